package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// askPolicy asks before anything is written below archive, denies writing below
// secret, and lets the local human approve plans of its own.
func askPolicy(w *kit.World) string {
	return fmt.Sprintf(`[principal.local-human]
approve = ["self"]

[principal.local-human.effects]
"fs.write" = { allow = ["/**"], ask = ["%[1]s/archive/**"], deny = ["%[1]s/secret/**"] }
`, w.Work)
}

// planOf derives a plan and gives its ref.
func planOf(r *kit.Raw, src string) string {
	r.T.Helper()
	p := r.Must("exec", kit.Args{"src": src, "mode": "plan", "position": "value"})
	if p.At("plan_ref").Str() == "" {
		r.T.Fatalf("plan %s: got %v", src, p)
	}
	return p.At("plan_ref").Str()
}

// asked is a served world with askPolicy and files to work on.
func asked(t *testing.T) (*kit.World, *kit.Raw) {
	t.Helper()
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("report.csv", "a,b\n")
	w.Write("archive/.keep", "")
	w.Write("secret/.keep", "")
	w.StartKernel()
	return w, w.Raw("main")
}

// An effect to be asked about stores a plan and runs nothing; approved in part
// it stays pending, approved it runs once.
func TestApproval(t *testing.T) {
	w, r := asked(t)
	const src = "cp ./report.csv ./archive/report.csv"
	data, _ := r.Refused(messages.CodeApprovalRequired, "exec", kit.Args{"src": src})
	if !strings.HasPrefix(data.At("plan_ref").Str(), "plan:") || len(data.At("effects").List()) == 0 {
		t.Errorf("got %v, want plan_ref and effects", data)
	}
	copied := w.Work + "/archive/report.csv"
	if _, err := os.Stat(copied); err == nil {
		t.Fatal("it ran without approval")
	}
	p := r.Must("exec", kit.Args{"src": src, "mode": "plan"})
	ref := p.At("plan_ref").Str()
	if p.At("verdict").Str() != "approval_required" || !p.At("approval_pending").Bool() || p.At("source").Str() != src || len(ref) != len("plan:")+32 {
		t.Errorf("plan: got %v", p)
	}
	r.Refused(messages.CodeApprovalRequired, "plan.apply", kit.Args{"plan_ref": ref})
	for _, effects := range [][]string{{}, {"fs.read"}, {"fs_read", "proc.spawn"}} {
		got := r.Must("cap.request", kit.Args{"plan_ref": ref, "effects": effects})
		if got.At("status").Str() != "approval_pending" || got.At("uncovered", 0).Str() != "fs_write" {
			t.Errorf("%v: got %v, want pending with fs_write uncovered", effects, got)
		}
		r.Refused(messages.CodeApprovalRequired, "plan.apply", kit.Args{"plan_ref": ref})
	}
	got := r.Must("cap.request", kit.Args{"plan_ref": ref, "effects": []string{"fs.read", "fs.write"}})
	if got.At("status").Str() != "granted" || len(got.At("uncovered").List()) != 0 || got.At("approver").Str() == "" {
		t.Errorf("got %v, want granted", got)
	}
	view := r.Must("plan.get", kit.Args{"plan_ref": ref})
	if view.At("approval_pending").Bool() || len(view.At("approvals").List()) == 0 {
		t.Errorf("plan: got %v, want its approvals", view)
	}
	r.Must("plan.apply", kit.Args{"plan_ref": ref})
	if _, err := os.Stat(copied); err != nil {
		t.Error(err)
	}
	data, _ = r.Refused(messages.CodeUnknownPlan, "plan.apply", kit.Args{"plan_ref": ref})
	if data.At("reason").Str() == "" {
		t.Errorf("applied twice: got %v, want a reason", data)
	}
	entry := r.Must("journal.query", kit.Args{"limit": 1}).At("entries", 0)
	if entry.At("kind").Str() != "apply" || entry.At("plan_ref").Str() != ref || entry.At("approver").Str() == "" {
		t.Errorf("journal: got %v, want the application with its approver", entry)
	}
	events := r.Must("events.read", kit.Args{"channel": "approval"}).At("events")
	if events.At(-1, "payload", "status").Str() != "granted" || events.At(-1, "payload", "plan_ref").Str() != ref {
		t.Errorf("approval channel: got %v, want the grant last", events)
	}
}

// The user of an MCP client is asked by the result of the call, and the call is
// made again with the answer.
func TestApprovalByElicitation(t *testing.T) {
	w, _ := asked(t)
	f := w.StartFacade("main")
	const src = "cp ./report.csv ./archive/report.csv"
	call := func(more kit.Args) kit.Val {
		t.Helper()
		params := kit.Args{"name": "shoal_exec", "arguments": kit.Args{"src": src}, "_meta": kit.Args{
			"io.modelcontextprotocol/protocolVersion":    "2026-07-28",
			"io.modelcontextprotocol/clientCapabilities": kit.Args{"elicitation": kit.Args{}},
		}}
		for k, v := range more {
			params[k] = v
		}
		return f.Call("tools/call", params).Result
	}
	answer := func(question kit.Val, action string) kit.Val {
		t.Helper()
		form := question.At("inputRequests", "approval", "params", "message").Str()
		for _, part := range []string{src, "fs.write(" + w.Work + "/archive/report.csv)", "Risk: "} {
			if !strings.Contains(form, part) {
				t.Errorf("the question lacks %q: %s", part, form)
			}
		}
		return call(kit.Args{"requestState": question.At("requestState").Str(), "inputResponses": kit.Args{"approval": kit.Args{"action": action}}})
	}
	copied := w.Work + "/archive/report.csv"
	for action, code := range map[string]int64{"decline": -32010, "cancel": -32011} {
		if got := answer(call(nil), action); got.At("structuredContent", "code").Int() != code {
			t.Errorf("%s: got %v, want %d", action, got, code)
		}
		if _, err := os.Stat(copied); err == nil {
			t.Fatalf("it ran after %s", action)
		}
	}
	if got := answer(call(nil), "accept"); got.At("isError").Bool() {
		t.Errorf("accept: got %v", got)
	}
	if _, err := os.Stat(copied); err != nil {
		t.Error(err)
	}
	r := w.Raw("main")
	entry := r.Must("journal.query", kit.Args{"limit": 1}).At("entries", 0)
	if entry.At("kind").Str() != "apply" || entry.At("approver").Str() == "" {
		t.Errorf("journal: got %v, want the application with its approver", entry)
	}
	// The wait for an application has a budget like any other.
	ref := planOf(r, "sleep 1")
	if got := r.Must("plan.apply", kit.Args{"plan_ref": ref, "timeout_ms": 20}); !got.At("timed_out").Bool() {
		t.Errorf("apply: got %v, want it handed over", got)
	}
}

// What is to run in the background, or once for its id, is asked about like
// everything else, in both eras, and once approved runs as it was called.
func TestApprovalOfOtherExecutions(t *testing.T) {
	w, r := asked(t)
	f := w.StartFacade("main")
	capable := kit.Args{"elicitation": kit.Args{}}
	f.Call("initialize", kit.Args{"protocolVersion": kit.Revision, "capabilities": capable, "clientInfo": kit.Args{"name": "test", "version": "1"}})
	answered := 0
	handshake := func(args kit.Args) kit.Val {
		open := f.StartTool("shoal_exec", args)
		kit.Eventually(t, quick, "the user is asked", func() bool { return len(f.Strays()) > answered })
		question := kit.Parse([]byte(f.Strays()[answered]))
		answered++
		f.Line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, question.At("id")))
		return open.WaitTool().Structured
	}
	stateless := func(args kit.Args) kit.Val {
		params := kit.Args{"name": "shoal_exec", "arguments": args, "_meta": kit.Args{
			"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capable,
		}}
		question := f.Call("tools/call", params).Result
		params["requestState"] = question.At("requestState").Str()
		params["inputResponses"] = kit.Args{"approval": kit.Args{"action": "accept"}}
		return f.Call("tools/call", params).Result.At("structuredContent")
	}
	for era, call := range map[string]func(kit.Args) kit.Val{"handshake": handshake, "stateless": stateless} {
		file := w.Work + "/archive/" + era
		write := fmt.Sprintf("\"x\\n\".append(%q)", file)
		task := call(kit.Args{"src": "cd archive; " + write, "background": true}).At("task").Str()
		if rec := r.Await(task); rec.At("state").Str() != "completed" {
			t.Errorf("%s, background: got %v", era, rec)
		}
		once := kit.Args{"src": write + "; 7", "request_id": era}
		ref := call(once).At("ref").Str()
		if again := f.Tool("shoal_exec", once).Structured.At("ref").Str(); ref == "" || again != ref {
			t.Errorf("%s: the id gave %q, then %q", era, ref, again)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != "x\nx\n" {
			t.Errorf("%s: written %q, %v", era, text, err)
		}
	}
	entry := r.Must("journal.query", kit.Args{"limit": 1}).At("entries", 0)
	if entry.At("kind").Str() != "apply" || entry.At("approver").Str() == "" || entry.At("request_id").Str() == "" {
		t.Errorf("journal: got %v", entry)
	}
	if got := r.Render("pwd"); got != w.Work {
		t.Errorf("the session has moved to %s", got)
	}
}

// A plan may be named with its source, which runs by its approvals alone, once.
func TestExecByAPlan(t *testing.T) {
	w, r := asked(t)
	const src = "touch archive/a"
	ref := planOf(r, src)
	call := kit.Args{"src": src, "plan_ref": ref, "position": "value"}
	r.Refused(messages.CodeApprovalRequired, "exec", call)
	r.Must("cap.request", kit.Args{"plan_ref": ref, "effects": []string{"fs.write"}})
	r.Refused(messages.CodeInvalidParams, "exec", kit.Args{"src": "touch archive/b", "plan_ref": ref})
	r.Refused(messages.CodeInvalidParams, "exec", kit.Args{"src": src, "plan_ref": ref, "mode": "plan"})
	r.Must("exec", call)
	r.Refused(messages.CodeUnknownPlan, "exec", call)
	for name, want := range map[string]bool{"a": true, "b": false} {
		if _, err := os.Stat(w.Work + "/archive/" + name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two plans of one shape are two plans: approving one leaves the other alone.
func TestApprovalIsExact(t *testing.T) {
	_, r := asked(t)
	one, two := planOf(r, "touch archive/a"), planOf(r, "touch archive/b")
	same := planOf(r, "touch archive/a")
	if one == two || one == same {
		t.Fatalf("refs: got %s, %s, %s, want three", one, two, same)
	}
	r.Must("cap.request", kit.Args{"plan_ref": one, "effects": []string{"fs.write"}})
	for _, other := range []string{two, same} {
		r.Refused(messages.CodeApprovalRequired, "plan.apply", kit.Args{"plan_ref": other})
	}
	r.Refused(messages.CodeApprovalRequired, "exec", kit.Args{"src": "touch archive/a"})
	r.Must("plan.apply", kit.Args{"plan_ref": one})
}

// A plan whose directory or policy has changed no longer holds.
func TestPlanIsBound(t *testing.T) {
	w, r := asked(t)
	w.Write("d/archive-me", "x")
	r.Exec("cd d")
	ref := planOf(r, "touch here")
	r.Exec("cd ..")
	r.Must("plan.apply", kit.Args{"plan_ref": ref})
	if _, err := os.Stat(w.Work + "/d/here"); err != nil {
		t.Error("apply did not run in the plan's directory:", err)
	}
	if got := r.Render("pwd"); got != w.Work {
		t.Errorf("pwd after apply: got %s, want %s", got, w.Work)
	}
	r.Exec("cd d")
	ref = planOf(r, "touch again")
	r.Exec("cd ..")
	if err := os.Rename(w.Work+"/d", w.Work+"/old"); err != nil {
		t.Fatal(err)
	}
	w.Write("d/f", "another directory of the same name")
	data, _ := r.Refused(messages.CodeUnknownPlan, "plan.apply", kit.Args{"plan_ref": ref})
	if data.At("reason").Str() == "" {
		t.Errorf("directory replaced: got %v, want a reason", data)
	}
	if _, err := os.Stat(w.Work + "/d/again"); err == nil {
		t.Error("the plan ran in another directory")
	}
	ref = planOf(r, "touch third")
	w.Policy(strings.Replace(askPolicy(w), "secret", "sealed", 1))
	if err := kit.Kill(w.KernelPID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	kit.Eventually(t, quick, "the policy is read again", func() bool {
		return strings.Contains(r.Must("events.read", kit.Args{"channel": "kernel"}).String(), "reloaded")
	})
	data, _ = r.Refused(messages.CodeUnknownPlan, "plan.apply", kit.Args{"plan_ref": ref})
	if !strings.Contains(data.At("reason").Str(), "policy") {
		t.Errorf("policy changed: got %v, want that as the reason", data)
	}
	if _, err := os.Stat(w.Work + "/third"); err == nil {
		t.Error("the plan ran under another policy")
	}
}

// A bad policy file leaves the old one in force and says so.
func TestBadPolicyReload(t *testing.T) {
	w, r := asked(t)
	w.Policy("[principal.local-human\n")
	kit.Kill(w.KernelPID(), syscall.SIGHUP)
	kit.Eventually(t, quick, "the failure is told", func() bool {
		return strings.Contains(r.Must("events.read", kit.Args{"channel": "kernel"}).At("events", -1).String(), "policy")
	})
	r.Refused(messages.CodeApprovalRequired, "exec", kit.Args{"src": "touch archive/x"})
	r.Refused(messages.CodeLeashDenied, "exec", kit.Args{"src": "touch secret/x"})
	r.Close()
	w.StopKernel()
	if _, line := w.TryKernel(); !strings.Contains(line, "policy.toml") {
		t.Errorf("start with a bad policy: got %q, want an error that names the file", line)
	}
}

// What is denied does not run, whether the plan shows it or only the run.
func TestDenied(t *testing.T) {
	w, r := asked(t)
	data, _ := r.Refused(messages.CodeLeashDenied, "exec", kit.Args{"src": "touch before\ntouch secret/x"})
	if data.At("dimension").Str() != "filesystem" || data.At("effect").Str() != "fs_write" || data.At("target").Str() != w.Work+"/secret/x" || data.At("rule").Str() == "" {
		t.Errorf("got %v, want dimension, effect, target and rule", data)
	}
	if _, err := os.Stat(w.Work + "/before"); err == nil {
		t.Error("a part of a denied program has run")
	}
	p := r.Must("exec", kit.Args{"src": "touch secret/x", "mode": "plan"})
	if p.At("verdict").Str() != "deny" {
		t.Errorf("plan: got %v, want deny", p)
	}
	r.Refused(messages.CodeLeashDenied, "plan.apply", kit.Args{"plan_ref": p.At("plan_ref").Str()})
	w.Write("where.txt", "secret")
	// The target is computed from what a file holds: no plan can show it.
	computed := `let dir = path("where.txt").read()` + "\n" + `"x".save(dir + "/y")`
	data, _ = r.Refused(messages.CodeLeashDenied, "exec", kit.Args{"src": computed})
	if data.At("target").Str() != w.Work+"/secret/y" || data.At("ref").Str() == "" || data.At("error", "code").Str() == "" {
		t.Errorf("computed: got %v, want target, ref and error", data)
	}
	if _, err := os.Stat(w.Work + "/secret/y"); err == nil {
		t.Error("a denied file was written")
	}
	caught := r.Exec(`let dir = path("where.txt").read()` + "\n" + `"x".save(dir + "/y") catch e { e.code }`)
	if caught.At("value", "v").Str() == "" {
		t.Errorf("caught: got %v, want the error's code", caught)
	}
	entry := r.Must("journal.query", kit.Args{"ok": false, "limit": 1}).At("entries", 0)
	if entry.At("ok").Bool() || entry.At("id").IsNull() {
		t.Errorf("journal: got %v, want the refusal", entry)
	}
}
