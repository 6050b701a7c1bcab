package mcp

import "shoal.dev/shoal/messages"

// waitArg is what a terminal read or send may wait for.
func waitArg() *shape {
	return &shape{kind: "object", doc: "Block until all conditions hold; a timeout is no error.", props: []prop{
		{"text", false, &shape{kind: "string", doc: "Text on the screen."}},
		{"regex", false, &shape{kind: "string", doc: "Pattern on the screen."}},
		{"screen_changed_since", false, &shape{kind: "integer", doc: "A version of the screen."}},
		{"stable_ms", false, &shape{kind: "integer", min: 1, doc: "Nothing changed for so long."}},
		{"exit", false, &shape{kind: "boolean", only: true, doc: "The program has ended."}},
		{"timeout_ms", false, &shape{kind: "integer", min: 1, max: 60000, doc: "At most so long."}},
	}}
}

// inputItem is one thing to send to a terminal.
func inputItem() *shape {
	return &shape{kind: "object", exactly1: true, props: []prop{
		{"text", false, &shape{kind: "string", doc: "Typed as it is."}},
		{"key", false, &shape{kind: "string", doc: "Enter Tab Escape Up F1 Ctrl-C Alt-x Shift-Tab …"}},
		{"bytes", false, &shape{kind: "string", doc: "Base64."}},
		{"paste", false, &shape{kind: "string", doc: "Pasted text."}},
		{"mouse", false, mouseArg()},
	}}
}

// mouseArg is one use of the mouse.
func mouseArg() *shape {
	return &shape{kind: "object", doc: "When the screen says mouse.", props: []prop{
		{"row", true, &shape{kind: "integer", doc: "From 0."}},
		{"col", true, &shape{kind: "integer", doc: "From 0."}},
		{"button", false, &shape{kind: "string", doc: "left, middle, right, none, wheel_up, wheel_down.", byOmit: `"left"`}},
		{"action", false, &shape{kind: "string", doc: "click, press, release, move.", byOmit: `"click"`}},
		{"mods", false, &shape{kind: "array", items: &shape{kind: "string"}, doc: "shift, alt, ctrl."}},
	}}
}

func terminalTools() []*tool {
	text := &shape{kind: "string", doc: "Typed as it is."}
	return []*tool{
		{
			name: "shoal_pty_open", title: "Open a terminal", method: "pty.open",
			doc: `Start a program on a real terminal: editors, REPLs, installers, TUIs. Everything else belongs in shoal_exec. ` +
				`Close it when done. Example: {"cmd":"python3","args":["-q"]}`,
			input: &shape{kind: "object", props: []prop{
				{"cmd", false, &shape{kind: "string", doc: "Program; needed unless plan_ref is given."}},
				{"args", false, &shape{kind: "array", items: &shape{kind: "string"}, doc: "Arguments."}},
				{"cols", false, size("Columns.", "80")},
				{"rows", false, size("Rows.", "24")},
				{"env", false, &shape{kind: "object", values: &shape{kind: "string"}, doc: "Added to the session's environment."}},
				{"cwd", false, &shape{kind: "string", doc: "Instead of the session's cwd."}},
				{"scrollback", false, &shape{kind: "integer", byOmit: "1000", doc: "Lines kept above the screen."}},
				{"record", false, &shape{kind: "boolean", doc: "Keep what is shown as an asciicast."}},
				{"record_input", false, &shape{kind: "boolean", doc: "And what is typed while it is echoed."}},
				{"plan_ref", false, &shape{kind: "string", uri: refPlan, doc: "An approved plan of a terminal, alone."}},
			}},
			output: []result{{[]string{"pty_id"}, []field{
				{"pty_id", "string", "The terminal."},
				{"uri", "string", "Resource of its screen."},
				{"pid", "integer", "Process."},
				{"cmd", "string", "Program."},
				{"args", "array", "Arguments."},
				{"cols", "integer", "Columns."},
				{"rows", "integer", "Rows."},
				{"alive", "boolean", "The program runs."},
			}}},
			hints: hints{destructive: true, openWorld: true},
			approved: func(_ []byte, ref messages.PlanRef) source {
				return source{"pty.open", messages.JSON(map[string]any{"plan_ref": ref})}
			},
			show: showOpened,
		},
		{
			name: "shoal_pty_send", title: "Type into a terminal", method: "pty.send",
			doc: `Send text and keys to a terminal, in order; with wait, answer with the screen once it is ready. ` +
				`Example: {"pty_id":"pty:3","input":["6*7",{"key":"Enter"}],"wait":{"text":"42","timeout_ms":5000}}`,
			input: &shape{kind: "object", props: []prop{
				{"pty_id", true, ptyArg},
				{"input", true, &shape{anyOf: []*shape{text, inputItem(), {kind: "array", items: &shape{anyOf: []*shape{text, inputItem()}}, doc: "In order."}}, doc: "An item, or several."}},
				{"wait", false, waitArg()},
			}},
			output: []result{{[]string{"pty_id", "bytes_sent"}, append([]field{
				{"bytes_sent", "integer", "What went in."},
				{"warnings", "array", "What the terminal will lose."},
				{"blocked", "boolean", "The program does not read."},
			}, screenFields...)}},
			hints: hints{destructive: true, openWorld: true},
			quote: quoteScreen,
		},
		{
			name: "shoal_pty_read", title: "Read a terminal", method: "pty.read",
			doc: `The screen as it is now, or, with wait, once it is ready: do not poll. ` +
				`Example: {"pty_id":"pty:3","wait":{"stable_ms":300,"timeout_ms":5000}}`,
			input: &shape{kind: "object", props: []prop{
				{"pty_id", true, ptyArg},
				{"wait", false, waitArg()},
				{"scrollback", false, &shape{kind: "object", doc: "Lines above the screen, by absolute number.", props: []prop{
					{"from", true, &shape{kind: "integer", doc: "First line."}},
					{"to", true, &shape{kind: "integer", doc: "Line after the last."}},
				}}},
				{"attrs", false, &shape{kind: "boolean", doc: "With colours and styles."}},
			}},
			output: []result{{[]string{"pty_id", "screen"}, screenFields}},
			hints:  hints{readOnly: true, idempotent: true},
			quote:  quoteScreen,
		},
		{
			name: "shoal_pty_resize", title: "Resize a terminal", method: "pty.resize",
			doc: `Change a terminal's size; then read it again. Example: {"pty_id":"pty:3","cols":120,"rows":40}`,
			input: &shape{kind: "object", props: []prop{
				{"pty_id", true, ptyArg},
				{"cols", true, size("Columns.", "")},
				{"rows", true, size("Rows.", "")},
			}},
			output: []result{{[]string{"pty_id", "cols", "rows"}, []field{
				{"pty_id", "string", "The terminal."}, {"cols", "integer", "Columns."}, {"rows", "integer", "Rows."},
			}}},
			hints: hints{idempotent: true},
			show:  showPlain,
		},
		{
			name: "shoal_pty_close", title: "Close a terminal", method: "pty.close",
			doc: `End the program and free the terminal; read the last screen before. Example: {"pty_id":"pty:3"}`,
			input: &shape{kind: "object", props: []prop{
				{"pty_id", true, ptyArg},
			}},
			output: []result{{[]string{"pty_id", "closed"}, []field{
				{"pty_id", "string", "The terminal."}, {"closed", "boolean", "It is gone."}, {"exit", "", "null, or {status, signal}."},
				{"recording", "object", "{ref, log, bytes, truncated}, when it was recorded."},
			}}},
			hints: hints{destructive: true, idempotent: true},
			show:  showPlain,
		},
		{
			name: "shoal_pty_list", title: "List terminals", method: "pty.list",
			doc:    `The session's open terminals.`,
			input:  &shape{kind: "object"},
			output: []result{{[]string{"ptys"}, []field{{"ptys", "array", "{pty_id, cmd, pid, cols, rows, alive}, ascending."}}}},
			hints:  hints{readOnly: true, idempotent: true},
			show:   showTerminals,
		},
	}
}
