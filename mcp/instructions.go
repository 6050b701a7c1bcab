package mcp

import "strings"

// instructions are what every client is told at the handshake: the language on
// a card, and how to work. Agents pay for every byte of it.
func instructions() string {
	var b strings.Builder
	b.WriteString(cardHead)
	for _, row := range card {
		b.WriteString("\n- " + row.src)
		if row.says != "" {
			b.WriteString("  — " + row.says)
		}
	}
	b.WriteString(workflow)
	return b.String()
}

const cardHead = `Shoal is a typed shell with a session that stays: bindings, cwd and env live on between calls. Commands give values; filter and select in the shell and return small records, instead of printing text and reading it.

Shoal is not bash: no pipes, no $x, no heredocs, no 2>. Source, and what it means:`

// card is the language by example; a test parses every source.
var card = []struct{ src, says string }{
	{`git status --short`, "commands as usual, globs and quotes too; text that is one JSON document becomes a value"},
	{`(ls .).where(.type == "file").where(f => f.size > 1mb && f.name != "x").sort_by(.size).take(5).map({name: .name, kb: .size / 1kb})`, "a command as a value stands in parentheses; methods take the place of pipes"},
	{`let n = (ls src).len(); "{n} files in {(pwd)}"`, "let is fixed, var can change (var i = 0; i += 1); '…' does not interpolate, so JSON goes there"},
	{`let r = (^make test); {ok: r.ok, status: r.status, tail: r.stderr.str().lines().last(5)}`, "outcome of a command: .ok .status .signal .dur, .out is its text or value, .stdout .stderr are bytes; as a statement a failed one raises and ends the source"},
	{`sh { make 2>&1 | tail -20 }`, "shell text as it stands; bash { … } for [[ ]] and arrays, also python3 { … }; its text is .out"},
	{`path("notes.txt").read.lines().where(.contains("TODO"))`, "files are read as text; cat gives bytes"},
	{`"text\n".save("out.txt")`, ".append too; echo x > f and >> f work"},
	{`"a\nb".feed(^sort)`, "stdin of a command"},
	{`env.CI = "1"; cd sub`, "stays for later calls (cd gives a path, so ; and not && after it); with cwd: \"x\" { … } only inside"},
	{`for f in ["a", "b"] { mkdir -p (f) }`, "(expr) puts a value into a command"},
	{`if path("go.mod").exists { go build ./... } else { "no module" }`, ""},
	{`json.parse('{"a": [1]}').a[0]`, ""},
	{`(rm missing) catch e { e.msg }`, "handles what is raised; && and || join commands"},
}

const workflow = `

Work like this.
- Run once with shoal_exec, keep its ref (out:N), look closer with shoal_get or by reading shoal://out/N?path=.rows[0]&slice=0..50. Never run again only to see more.
- Changes: shoal_plan, read its effects, shoal_cap_request if an approval is pending, shoal_apply.
- Long work: background:true, or timeout_ms, gives task:N. Read shoal://task/N and shoal://task/N/stdout, subscribe to shoal://task/N, end it with shoal_cancel. timeout_ms never kills, deadline_ms does.
- No answer or a lost connection: look into shoal_journal before you repeat, or repeat with the same request_id.
- Programs that need a terminal: shoal_pty_*, with wait instead of polling.
- Errors are results with isError: code, message, data (hint, span, ref). -32001 the source does not parse; -32002 it raised; -32010 policy refuses; -32011 needs approval; -32012 plan again; -32040 a limit: wait, cancel or close.
- Where bash would say it otherwise: the hint of -32001 shows the form to write, and shoal://guide holds a table of habits and more examples.`
