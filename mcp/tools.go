package mcp

import (
	"bytes"
	"encoding/json"
	"strings"

	"shoal.dev/shoal/messages"
)

// Shapes that several tools share.
var (
	planArg = &shape{kind: "string", uri: refPlan, doc: "plan:HEX from shoal_plan, or its URI."}
	taskArg = &shape{kind: "string", uri: refTask, doc: "task:N, or its URI."}
	ptyArg  = &shape{kind: "string", uri: refPTY, doc: "pty:N, or its URI."}
	elide   = &shape{kind: "object", doc: "How much to show; clamped.", props: []prop{
		{"max_bytes", false, &shape{kind: "integer", min: 1, doc: "Bytes of text and of value."}},
		{"max_rows", false, &shape{kind: "integer", min: 1, doc: "Rows of a table."}},
		{"max_items", false, &shape{kind: "integer", min: 1, doc: "Items of a list."}},
	}}
	size = func(doc, byOmit string) *shape {
		return &shape{kind: "integer", min: 1, max: 1000, doc: doc, byOmit: byOmit}
	}
)

// Forms of results that several tools share.
var (
	finishedForm = result{[]string{"ref", "value", "render"}, []field{
		{"ref", "string", "out:N, the stored value."},
		{"uri", "string", "Resource of the value."},
		{"value", "object", "Tagged value; $ is the type."},
		{"render", "string", "Text of the value."},
		{"printed", "array", "What earlier commands showed: {ref, render}."},
		{"printed_total", "integer", "Printed values, those not kept included."},
		{"notes", "array", "Remarks: {code, msg, span, data}."},
		{"truncated", "boolean", "The text left something out."},
		{"exit", "integer", "N of exit N."},
		{"task", "string", "Task that holds what still runs."},
		{"elapsed_ms", "integer", "Milliseconds."},
	}}
	handedForm = result{[]string{"task", "events"}, []field{
		{"events", "string", "Channel of the task."},
		{"timed_out", "boolean", "The wait budget ended; the work goes on."},
		{"detached", "boolean", "The work left the session's line."},
		{"state", "string", "State of the task."},
	}}
	planForm = result{[]string{"plan_ref", "verdict"}, []field{
		{"plan_ref", "string", "What shoal_apply takes."},
		{"source", "string", "The planned source."},
		{"effects", "array", "What it would do: {kind, path|host+port|name|argv0, why}."},
		{"reversibility", "string", "How much of it has an inverse."},
		{"verdict", "string", "allow, deny or approval_required."},
		{"approval_pending", "boolean", "An approval is needed first."},
		{"expires_at", "integer", "Unix nanoseconds."},
	}}
	screenFields = []field{
		{"pty_id", "string", "The terminal."},
		{"screen", "array", "The rows."},
		{"cursor", "object", "{row, col, hidden}, from 0."},
		{"changed", "boolean", "Since this connection's last read."},
		{"alive", "boolean", "The program runs."},
		{"exit", "", "null, or {status, signal}."},
		{"version", "integer", "Rises with every visible change."},
		{"wait", "object", "{met, elapsed_ms, rule}."},
		{"mouse", "boolean", "The program takes the mouse."},
		{"keyboard", "object", "{holder, yours, expires_ms}: who alone may type now."},
		{"recording", "object", "{ref, log, bytes, truncated}, once a recorded program has ended."},
		{"attrs", "array", "{row, col, len, sgr} of cells not drawn plainly, when asked for."},
	}
)

// toolTable is the thirteen tools, in the order of the documentation.
func toolTable() []*tool {
	return append(workTools(), terminalTools()...)
}

func workTools() []*tool {
	return []*tool{
		{
			name: "shoal_exec", title: "Run Shoal source", method: "exec",
			doc: `Run Shoal source in your session; bindings, cwd and env stay. Use it for every command that needs no terminal. ` +
				`Not bash: no pipes, no $; for shell text use sh { … } or bash { … }. A failed last command comes back as a value (ok:false), earlier ones raise: let r = (^cmd). ` +
				`Long work: background:true, or timeout_ms (a wait budget, never a kill). ` +
				`Example: {"src":"(ls src).where(.size > 1mb).map(.name)"}`,
			input: &shape{kind: "object", props: []prop{
				{"src", true, &shape{kind: "string", doc: "Shoal source."}},
				{"mode", false, &shape{kind: "string", enum: []string{"run", "plan"}, byOmit: `"run"`, doc: "plan: only derive effects."}},
				{"position", false, &shape{kind: "string", enum: []string{"stmt", "value"}, byOmit: `"value"`, doc: "stmt: a failed last command raises."}},
				{"background", false, &shape{kind: "boolean", byOmit: "false", doc: "Answer at once with a task."}},
				{"timeout_ms", false, &shape{kind: "integer", min: 1, doc: "Wait this long, then answer with the task."}},
				{"deadline_ms", false, &shape{kind: "integer", min: 1, doc: "Cancel the work after this long."}},
				{"request_id", false, &shape{kind: "string", most: 128, doc: "Makes a retry safe: the same id and source run once in 24 h."}},
				{"elide", false, elide},
			}},
			output: []result{finishedForm, handedForm, planForm},
			hints:  hints{destructive: true, openWorld: true},
			prepare: func(args []byte) ([]byte, *messages.Error) {
				if member(args, "position") == nil {
					args = withMember(args, "position", `"value"`)
				}
				return args, nil
			},
			approved: execApproved,
			show:     showExecution,
		},
		{
			name: "shoal_plan", title: "Plan Shoal source", method: "exec",
			doc: `Derive what source would do (files, processes, network, secrets) and what policy says, without running it. ` +
				`Use it before you change things, then shoal_apply. Example: {"src":"rm ./build"}`,
			input: &shape{kind: "object", props: []prop{
				{"src", true, &shape{kind: "string", doc: "Shoal source."}},
			}},
			output: []result{planForm},
			hints:  hints{readOnly: true},
			prepare: func(args []byte) ([]byte, *messages.Error) {
				return withMember(withMember(args, "mode", `"plan"`), "position", `"value"`), nil
			},
			show: showExecution,
		},
		{
			name: "shoal_apply", title: "Apply a plan", method: "plan.apply",
			doc: `Run a reviewed plan, once, exactly as planned. -32011: ask with shoal_cap_request; -32012: plan again. Example: {"plan_ref":"plan:1f…"}`,
			input: &shape{kind: "object", props: []prop{
				{"plan_ref", true, planArg},
				{"timeout_ms", false, &shape{kind: "integer", min: 1, doc: "Wait this long, then answer with the task."}},
				{"deadline_ms", false, &shape{kind: "integer", min: 1, doc: "Cancel the work after this long."}},
			}},
			output:   []result{finishedForm, handedForm},
			hints:    hints{destructive: true, idempotent: true, openWorld: true},
			approved: applyAgain,
			show:     showExecution,
		},
		{
			name: "shoal_get", title: "Look closer at a result", method: "value.get",
			doc: `Read a stored result, or a part of it, without running anything again. ` +
				`Use it whenever a value shows as ref or text ends in a marker. Example: {"ref":"out:17","path":".rows[0].name"}; page with "slice":[50,100].`,
			input: &shape{kind: "object", props: []prop{
				{"ref", true, &shape{kind: "string", doc: "out:N, val:blake3:HEX or task:N, or its URI."}},
				{"path", false, &shape{kind: "string", doc: `.field ["key"] [n] [a..b], chained; .name on a table is a column, .rows its records.`}},
				{"slice", false, &shape{kind: "array", least: 2, most: 2, items: &shape{kind: "integer"}, doc: "[start, end) of what the path gives."}},
				{"elide", false, elide},
			}},
			output: []result{{[]string{"ref", "value"}, []field{
				{"ref", "string", "The value that was read."},
				{"value", "object", "Tagged value; $ is the type."},
			}}},
			hints:   hints{readOnly: true, idempotent: true},
			prepare: prepareGet,
			show:    showValue,
			again: func(params []byte) (string, json.RawMessage) {
				return "value.get", withMember(params, "format", `"render"`)
			},
		},
		{
			name: "shoal_journal", title: "What happened", method: "journal.query",
			doc: `Query the durable history of submissions, newest first: who ran what, with which effects and result. ` +
				`Look here before you repeat anything after a lost answer. Example: {"ok":false,"limit":5}`,
			input: &shape{kind: "object", props: []prop{
				{"since", false, &shape{kind: "integer", signed: true, doc: "Unix ns, inclusive."}},
				{"until", false, &shape{kind: "integer", signed: true, doc: "Unix ns, exclusive."}},
				{"principal", false, &shape{kind: "string", doc: "Who ran it."}},
				{"session", false, &shape{kind: "string", doc: "Session."}},
				{"ok", false, &shape{kind: "boolean", doc: "Succeeded or not."}},
				{"effects", false, &shape{kind: "array", items: &shape{kind: "string"}, doc: `Effect kinds it had, all of them: fs.write …`}},
				{"head", false, &shape{kind: "string", doc: "Command word, as git."}},
				{"text", false, &shape{kind: "string", doc: "Part of the source."}},
				{"limit", false, &shape{kind: "integer", min: 1, max: messages.JournalLimitMax, byOmit: "50", doc: "Entries."}},
				{"cursor", false, &shape{kind: "string", doc: "next of the page before."}},
			}},
			output: []result{{[]string{"entries"}, []field{
				{"entries", "array", "Submissions, newest first."},
				{"next", "string", "Cursor of the next page."},
			}}},
			hints: hints{readOnly: true, idempotent: true},
			show:  showJournal,
		},
		{
			name: "shoal_cancel", title: "Cancel a task", method: "task.cancel",
			doc: `End a task and its whole process tree (INT, then TERM, then KILL); on a finished task, what it left running. ` +
				`Example: {"task":"task:9"}`,
			input: &shape{kind: "object", props: []prop{
				{"task", true, taskArg},
			}},
			output: []result{{[]string{"task", "state"}, []field{
				{"task", "string", "The task."}, {"state", "string", "Its state now."},
			}}},
			hints: hints{destructive: true, idempotent: true},
			show:  showTask,
		},
		{
			name: "shoal_cap_request", title: "Ask for approval", method: "cap.request",
			doc: `Ask for approval of a plan's effects; name only what you reviewed ([] asks for all). ` +
				`Example: {"plan_ref":"plan:1f…","effects":["fs.write"]}`,
			input: &shape{kind: "object", props: []prop{
				{"plan_ref", true, planArg},
				{"effects", true, &shape{kind: "array", items: &shape{kind: "string"}, doc: "Effect kinds: " + strings.Join(effectKinds, " ") + "."}},
			}},
			output: []result{{[]string{"status"}, []field{
				{"status", "string", "granted, denied or approval_pending."},
				{"uncovered", "array", "Effect kinds that still lack approval."},
				{"approver", "string", "Who decided."},
				{"caps_enforced", "", "Whether the system enforces policy."},
			}}},
			hints: hints{idempotent: true},
			show:  showApproval,
		},
	}
}

// execApproved is the execution that policy asked about, by the approvals of its
// plan.
func execApproved(args []byte, ref messages.PlanRef) source {
	return source{"exec", withMember(bytes.Clone(args), "plan_ref", string(messages.JSON(ref)))}
}

func applyAgain(args []byte, _ messages.PlanRef) source { return source{"plan.apply", args} }
