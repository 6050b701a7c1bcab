package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// A program in a terminal that policy asks about gets a plan; approved, exactly
// that program opens, once, and no call of the other kind takes the plan.
func TestTerminalApproval(t *testing.T) {
	w := world(t)
	w.Policy(`[principal.local-human]
approve = ["self"]

[principal.local-human.effects]
"proc.spawn" = { allow = ["*"], ask = ["sh"] }
`)
	w.StartKernel()
	r, f := w.Raw("main"), w.Facade("main")
	open := kit.Args{"cmd": "sh", "args": []string{"-c", `echo "got $1 $COLUMN"; exec cat`, "sh", "two words"}, "cols": 50, "rows": 7, "env": kit.Args{"COLUMN": "x y"}, "record": true}
	refused := f.Tool("shoal_pty_open", open)
	ref := refused.Structured.At("data", "plan_ref").Str()
	if refused.Code() != messages.CodeApprovalRequired || !strings.HasPrefix(ref, "plan:") {
		t.Fatalf("got %v, want a plan to approve", refused)
	}
	if got := f.Tool("shoal_pty_open", kit.Args{"plan_ref": ref}); got.Code() != messages.CodeApprovalRequired {
		t.Errorf("unapproved: %v", got)
	}
	if got := r.Must("cap.request", kit.Args{"plan_ref": ref, "effects": []string{"proc.spawn", "opaque"}}); got.At("status").Str() != "granted" {
		t.Fatalf("request: %v", got)
	}
	r.Refused(messages.CodeInvalidParams, "plan.apply", kit.Args{"plan_ref": ref})
	r.Refused(messages.CodeInvalidParams, "pty.open", kit.Args{"plan_ref": ref, "cmd": "cat"})
	r.Refused(messages.CodeInvalidParams, "pty.open", kit.Args{})
	opened := f.MustTool("shoal_pty_open", kit.Args{"plan_ref": ref}).Structured
	pty := opened.At("pty_id").Str()
	if opened.At("cmd").Str() != "sh" || opened.At("cols").Int() != 50 || opened.At("rows").Int() != 7 {
		t.Errorf("opened %v", opened)
	}
	f.MustTool("shoal_pty_read", kit.Args{"pty_id": pty, "wait": kit.Args{"text": "got two words x y", "timeout_ms": 20000}})
	if got := f.Tool("shoal_pty_open", kit.Args{"plan_ref": ref}); got.Code() != messages.CodeUnknownPlan {
		t.Errorf("twice: %v", got)
	}
	closed := f.MustTool("shoal_pty_close", kit.Args{"pty_id": pty}).Structured
	if closed.At("recording", "ref").Str() == "" {
		t.Errorf("the plan's record was forgotten: %v", closed)
	}
	page := r.Must("journal.query", kit.Args{"head": "sh"})
	if got := page.At("entries", 0); got.At("plan_ref").Str() != ref || got.At("approver").Str() == "" {
		t.Errorf("journal: %v", got)
	}
	source := r.Must("exec", kit.Args{"src": "1 + 1", "mode": "plan"}).At("plan_ref").Str()
	r.Refused(messages.CodeInvalidParams, "pty.open", kit.Args{"plan_ref": source})
}

// The asciicast of a recorded terminal is content that tools read.
func TestTerminalRecording(t *testing.T) {
	w := world(t)
	w.StartKernel()
	r := w.Raw("main")
	pty := r.Must("pty.open", kit.Args{"cmd": "sh", "args": []string{"-c", "echo shown; exit 3"}, "record": true}).At("pty_id").Str()
	var screen kit.Val
	kit.Eventually(t, kit.Long, "the recording is told", func() bool {
		screen = r.Must("pty.read", kit.Args{"pty_id": pty, "wait": kit.Args{"exit": true}})
		return screen.Has("recording")
	})
	ref := screen.At("recording", "ref").Str()
	piece := r.Must("blob.get", kit.Args{"hash": ref})
	cast, err := base64.StdEncoding.DecodeString(piece.At("data_base64").Str())
	if err != nil || !strings.HasPrefix(string(cast), `{"version":2,"width":80,"height":24,`) || !strings.Contains(string(cast), `"o","shown\r\n"]`) {
		t.Errorf("%s: %q %v", ref, cast, err)
	}
	f := w.Facade("main")
	if got := f.MustTool("shoal_get", kit.Args{"ref": ref}); !strings.Contains(got.String(), "shown") {
		t.Errorf("shoal_get: %v", got)
	}
	live := r.Must("pty.open", kit.Args{"cmd": "cat"}).At("pty_id").Str()
	r.Refused(messages.CodeInvalidParams, "pty.record", kit.Args{"pty_id": live})
}

// Two connections see who types; a subscription hears the last state.
func TestTerminalSubscription(t *testing.T) {
	w := world(t)
	w.StartKernel()
	f, person := w.Facade("main"), w.Raw("main")
	opened := f.MustTool("shoal_pty_open", kit.Args{"cmd": "sh", "args": []string{"-c", "read go; seq 3000; exec cat"}}).Structured
	pty, uri := opened.At("pty_id").Str(), opened.At("uri").Str()
	if reply := f.Call("resources/subscribe", kit.Args{"uri": uri}); !reply.Error.IsNull() {
		t.Fatal(reply.Error)
	}
	person.Must("pty.keyboard", kit.Args{"pty_id": pty})
	got := f.Tool("shoal_pty_send", kit.Args{"pty_id": pty, "input": "x"})
	if got.Code() != messages.CodeTaskControl {
		t.Errorf("the agent typed: %v", got)
	}
	person.Must("pty.send", kit.Args{"pty_id": pty, "input": []any{kit.Args{"key": "Enter"}}})
	screen := f.MustTool("shoal_pty_read", kit.Args{"pty_id": pty, "wait": kit.Args{"text": "3000", "timeout_ms": 20000}})
	if !strings.Contains(screen.String(), "holds the keyboard") {
		t.Errorf("the agent is not told who types: %v", screen)
	}
	last := fmt.Sprintf(`"version":%d`, screen.Structured.At("version").Int())
	kit.Eventually(t, kit.Long, "the last state is told", func() bool {
		for _, n := range f.Updates(uri) {
			if strings.Contains(strings.ReplaceAll(n.String(), " ", ""), last) {
				return true
			}
		}
		return false
	})
}

// All terminals together have so many cells: what would take more is refused,
// and what is closed or made smaller gives its cells back.
func TestTerminalCells(t *testing.T) {
	w := world(t)
	w.StartKernel()
	f := w.Facade("main")
	var open []*console
	var refused kit.Answer
	for len(open) < 100 {
		got := f.Tool("shoal_pty_open", kit.Args{"cmd": "cat", "cols": 1000, "rows": 1000})
		if got.Code() != 0 {
			refused = got
			break
		}
		open = append(open, &console{t: t, f: f, id: got.Structured.At("pty_id").Str()})
	}
	data := refused.Structured.At("data")
	if refused.Code() != messages.CodeQuota || data.At("what").Str() != "terminal cells" || data.At("used").Int() != int64(len(open))*1_000_000 || data.At("limit").Int() < data.At("used").Int() {
		t.Fatalf("%d terminals open, then %v", len(open), refused)
	}
	small := openConsole(t, f, kit.Args{"cmd": "cat"})
	if got := f.Tool("shoal_pty_resize", kit.Args{"pty_id": small.id, "cols": 1000, "rows": 1000}); got.Code() != messages.CodeQuota {
		t.Errorf("resize beyond the cells: %v", got)
	}
	small.send(forText("as before\nas before"), "as before", enter())
	f.MustTool("shoal_pty_resize", kit.Args{"pty_id": open[0].id, "cols": 80, "rows": 24})
	f.MustTool("shoal_pty_resize", kit.Args{"pty_id": small.id, "cols": 1000, "rows": 1000})
	open[1].close()
	openConsole(t, f, kit.Args{"cmd": "cat", "cols": 1000, "rows": 1000}).close()
}
