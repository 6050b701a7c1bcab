package e2e

import (
	"os"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// strangerUID is a user id that nobody has.
const strangerUID = 64123

// An ordinary user gets the same: the core of an agent's day, run as one.
func TestOrdinaryUser(t *testing.T) {
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("report.csv", "a,b\n")
	w.Write("archive/.keep", "")
	w.AsUser(strangerUID)
	f := w.Facade("main")
	if got := strings.TrimSpace(f.Exec("(^id -u).out").Text); got != "64123" {
		t.Fatalf("id: got %q, want 64123", got)
	}
	f.Exec("let a = 5\nenv.X = \"y\"")
	if a := f.Tool("shoal_exec", kit.Args{"src": "cp report.csv archive/report.csv"}); a.Code() != messages.CodeApprovalRequired {
		t.Errorf("got %v, want -32011", a)
	}
	ref := f.MustTool("shoal_plan", kit.Args{"src": "cp report.csv archive/report.csv"}).Structured.At("plan_ref").Str()
	f.MustTool("shoal_cap_request", kit.Args{"plan_ref": ref, "effects": []string{"fs.write"}})
	f.MustTool("shoal_apply", kit.Args{"plan_ref": ref})
	if _, err := os.Stat(w.Work + "/archive/report.csv"); err != nil {
		t.Error(err)
	}
	task := f.Exec("sh { sleep 615 & sleep 616 }", kit.Args{"background": true}).Structured.At("task").Str()
	kit.Eventually(t, quick, "its programs run", func() bool { return sleeping(w, "sleep 615") && sleeping(w, "sleep 616") })
	f.MustTool("shoal_cancel", kit.Args{"task": task})
	if rec := f.AwaitEnd(task); rec.At("state").Str() != "cancelled" || sleeping(w, "sleep 615") {
		t.Errorf("got %v, want cancelled without survivors", rec)
	}
	pty := f.MustTool("shoal_pty_open", kit.Args{"cmd": "sh", "args": []string{"-c", "echo ready; exec cat"}}).Structured.At("pty_id").Str()
	read := f.MustTool("shoal_pty_read", kit.Args{"pty_id": pty, "wait": kit.Args{"text": "ready", "timeout_ms": 10000}})
	if !read.Structured.At("wait", "met").Bool() {
		t.Errorf("got %v, want the screen with ready", read)
	}
	f.MustTool("shoal_pty_close", kit.Args{"pty_id": pty})
	if a := f.Tool("shoal_exec", kit.Args{"src": "\"x\".save(\"/root/x\")"}); a.Code() != messages.CodeRaised {
		t.Errorf("writing where one may not: got %v, want an error", a)
	}
	w.KillKernel()
	kit.Eventually(t, quick, "the session is back", func() bool {
		a := f.Tool("shoal_exec", kit.Args{"src": "{a, x: env.X}"})
		return strings.Contains(a.Structured.String(), `"5"`) || a.Structured.At("value", "v", "a", "v").Int() == 5
	})
}

// Another user cannot reach the kernel, whatever path it knows.
func TestStrangerIsKeptOut(t *testing.T) {
	w := world(t)
	w.StartKernel()
	w.Raw("main").Exec("1")
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	stranger := kit.NewWorld(t, bin)
	stranger.AsUser(strangerUID)
	out, errs, status := stranger.Shoal("run", "--socket", w.Paths().Socket, "1 + 1")
	if status == 0 || strings.Contains(out, "2") {
		t.Errorf("got %q %q %d, want to be kept out", out, errs, status)
	}
}
