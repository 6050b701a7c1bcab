// Walks an agent's day with one of the TypeScript SDKs: walk.mjs v1|v2
// stdio|http, the rest in the environment. It ends with status 0 and "walked",
// or says what was not as expected.
const [version, way] = process.argv.slice(2);
const env = process.env;

const sdk = version === "v1" ? {
  ...await import("@modelcontextprotocol/sdk/client/index.js"),
  ...await import("@modelcontextprotocol/sdk/client/stdio.js"),
  ...await import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
  ...await import("@modelcontextprotocol/sdk/types.js"),
} : {
  ...await import("@modelcontextprotocol/client"),
  ...await import("@modelcontextprotocol/client/stdio"),
};

function want(what, ok, got) {
  if (!ok) throw new Error(`${what}: got ${JSON.stringify(got)}`);
}

const client = new sdk.Client({ name: "walk", version: "1" }, { capabilities: { elicitation: {} } });
let asked = 0;
const accept = async () => { asked++; return { action: "accept", content: {} }; };
const told = [];
const note = async n => { told.push(n.params); };
if (version === "v1") {
  client.setRequestHandler(sdk.ElicitRequestSchema, accept);
  client.setNotificationHandler(sdk.ResourceUpdatedNotificationSchema, note);
} else {
  client.setRequestHandler("elicitation/create", accept);
  client.setNotificationHandler("notifications/resources/updated", note);
}
await client.connect(way === "stdio"
  ? new sdk.StdioClientTransport({ command: env.SHOAL_MCP, args: ["--session", env.SESSION, "--state-dir", env.STATE], env, cwd: env.WORK })
  : new sdk.StreamableHTTPClientTransport(new URL(env.URL), { requestInit: { headers: { Authorization: `Bearer ${env.TOKEN}` } } }));

const tool = (name, args) => client.callTool({ name, arguments: args });
const exec = async (src, more = {}) => tool("shoal_exec", { src, ...more });

const tools = (await client.listTools()).tools;
want("thirteen tools", tools.length === 13, tools.map(t => t.name));

let r = await exec(`cd "${env.WORK}"`);
r = await exec("let n = 41\n{ total: n + 1, rows: [{name: \"a\"}] }");
want("a record", r.structuredContent.ref?.startsWith("out:"), r);
r = await tool("shoal_get", { ref: r.structuredContent.ref, path: ".rows[0].name" });
want("a part of it", r.content[0].text.includes("a"), r);
r = await exec("range(0, 1000).collect()");
r = await tool("shoal_get", { ref: r.structuredContent.ref, slice: [500, 502] });
want("a slice", r.structuredContent.value.v?.map(x => x.v).join() === "500,501", r);
r = await exec("^false", { position: "stmt" });
want("a raised error", r.isError && r.structuredContent.code === -32002, r);

r = await exec("cp ./report.csv ./archive/report.csv"); // policy wants an approval
want("an approved copy", !r.isError && asked === 1, [r, asked]);
r = await tool("shoal_plan", { src: "cp ./report.csv ./archive/second.csv" });
const ref = r.structuredContent.plan_ref;
r = await tool("shoal_cap_request", { plan_ref: ref, effects: ["fs.read", "fs.write"] });
want("a grant", r.structuredContent.status === "granted", r);
r = await tool("shoal_apply", { plan_ref: ref });
want("an applied plan", !r.isError, r);

r = await exec("sh { echo begun; while true; do sleep 0.05; done }", { background: true });
const task = r.structuredContent.task;
const uri = `shoal://task/${task.slice(5)}`;
await client.subscribeResource({ uri });
let output = "";
for (let i = 0; i < 400 && output !== "begun\n"; i++) {
  output = JSON.parse((await client.readResource({ uri: uri + "/stdout" })).contents[0].text).data;
  if (output !== "begun\n") await new Promise(done => setTimeout(done, 25));
}
want("the task's output", output === "begun\n", output);
r = await tool("shoal_cancel", { task });
let state = "";
for (let i = 0; i < 400 && state !== "cancelled"; i++) { // each notice is a hint to read
  const heard = told.splice(0).some(p => p.uri === uri);
  if (heard) state = JSON.parse((await client.readResource({ uri })).contents[0].text).state;
  else await new Promise(done => setTimeout(done, 25));
}
want("a cancelled task", state === "cancelled", state);
await client.unsubscribeResource({ uri });

r = await tool("shoal_pty_open", { cmd: "sh", args: ["-i"], cols: 60, rows: 6 });
const pty_id = r.structuredContent.pty_id;
await tool("shoal_pty_send", { pty_id, input: ["echo $((6 * 7))", { key: "Enter" }] });
r = await tool("shoal_pty_read", { pty_id, wait: { regex: "(?m)^42$", timeout_ms: 10000 } });
want("a screen", JSON.stringify(r.structuredContent.screen).includes("42"), r);
r = await client.readResource({ uri: `shoal://pty/${pty_id.slice(4)}` });
want("the screen as a resource", r.contents[0].text.includes("42"), r);
await tool("shoal_pty_close", { pty_id });
r = await tool("shoal_journal", { limit: 3 });
want("the journal", r.structuredContent.entries.length === 3, r);
await client.close();
console.log("walked");
process.exit(0);
