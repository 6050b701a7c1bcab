package mcp

// instructions are what every client is told at the handshake: the language on
// a card, and how to work. Agents pay for every byte of it.
const instructions = `Shoal is a typed shell with a session that stays: bindings, cwd and env live on between calls. Commands give values; filter and select in the shell, return small records.

Shoal is not bash.
- git status --short, ls src, cd sub: commands as usual. Known tools answer with tables; ^git status forces the plain program.
- A command as a value stands in parentheses, and methods chain instead of pipes: (ls .).where(.type == "file").sort_by(.size).reverse().take(5).map({name: .name, kb: .size / 1kb})
- let x = 5; var n = 0; n += 1. Names have no $. "text {x} {(pwd)}" interpolates, '…' does not.
- env.FOO = "1" sets the environment. a && b, if c { … } else { … }, for f in xs { … }, fn f(x) { … }, E catch e { … }.
- let r = (^cmd): r.ok, r.status, r.out, r.stderr. "text".save("f"), "text".feed(^cmd).
- Anything bash: sh { make 2>&1 | tail -20 }; python3 { … } likewise.

Work like this.
- Run once with shoal_exec, keep ref (out:N), look closer with shoal_get or shoal://out/N?path=.rows[0]&slice=0..50; never run again only to see more.
- Changes: shoal_plan, read the effects, shoal_cap_request if approval is pending, shoal_apply.
- Long work: background:true or timeout_ms gives task:N; read shoal://task/N and /stdout, subscribe to shoal://task/N, end it with shoal_cancel. timeout_ms never kills.
- No answer or a lost connection: look into shoal_journal before repeating, or repeat with the same request_id.
- Programs that need a terminal: shoal_pty_*, with wait instead of polling.
- Errors are results with isError: code, message, data.hint. -32001 source does not parse; -32002 it raised; -32010 policy refuses; -32011 needs approval; -32012 plan again; -32040 a limit: wait or cancel.`
