package e2e

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// labels are the candidates of a completion, "label/kind".
func labels(t *testing.T, r *kit.Raw, src string, more kit.Args) []string {
	t.Helper()
	args := kit.Args{"src": src}
	for k, v := range more {
		args[k] = v
	}
	var out []string
	answer := r.Must("complete", args)
	for _, c := range answer.At("candidates").List() {
		out = append(out, c.At("label").Str()+"/"+c.At("kind").Str())
	}
	return out
}

// wants checks that a list has, or has not, an item.
func wants(t *testing.T, what string, list []string, has ...string) {
	t.Helper()
	for _, item := range has {
		item, not := strings.CutPrefix(item, "!")
		if slices.Contains(list, item) == not {
			t.Errorf("%s: %q is there: %v; got %v", what, item, !not, list)
		}
	}
}

// Completion sees what the session is: its names, directory, PATH and values.
func TestCompleteInSession(t *testing.T) {
	w, r := served(t)
	for name, mode := range map[string]os.FileMode{"bin/shipit": 0o755, "plans/first.txt": 0o644, "plain file": 0o644} {
		path := filepath.Join(w.Work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	r.Exec(`let harbour = {depth: 3, name: "x"}; env.PATH = "` + w.Work + `/bin:/bin"`)
	wants(t, "bindings", labels(t, r, "harb", nil), "harbour/let")
	wants(t, "fields", labels(t, r, "harbour.", nil), "depth/field", "name/field", "keys/method", "!upper/method")
	wants(t, "methods by kind", labels(t, r, "harbour.name.", nil), "upper/method", "!keys/method")
	wants(t, "programs", labels(t, r, "ship", nil), "shipit/program")
	wants(t, "paths", labels(t, r, "cat pl", nil), "plans//directory", "'plain file'/path")
	wants(t, "cursor", labels(t, r, "harb + 1", kit.Args{"cursor": 4}), "harbour/let")
	wants(t, "cursor before the text", labels(t, r, "harb", kit.Args{"cursor": -3}), "ls/head")
	wants(t, "cursor beyond the text", labels(t, r, "harb", kit.Args{"cursor": 1 << 40}), "harbour/let")
	wants(t, "refs", labels(t, r, "echo out:", nil), "out:1/ref")
	task := r.Background("1 + 1")
	r.Await(task)
	wants(t, "tasks", labels(t, r, "echo task:", nil), task+"/ref")
	plan := r.Must("exec", kit.Args{"src": "mkdir later", "mode": "plan"}).At("plan_ref").Str()
	wants(t, "plans", labels(t, r, "apply plan:", nil), plan+"/ref")
	r.Exec("cd plans")
	wants(t, "where the session is", labels(t, r, "cat ", nil), "first.txt/path", "!plans//directory")
	r.Refused(messages.CodeInvalidParams, "complete", kit.Args{"cursor": 3})
	r.Refused(messages.CodeInvalidParams, "complete", kit.Args{"src": "l", "cursor": "3"})
}

func TestParse(t *testing.T) {
	_, r := served(t)
	r.Exec("let x = 1")
	answer := r.Must("parse", kit.Args{"src": "x -1"})
	if answer.At("ast_version").Int() != 1 || answer.At("ast").At("src").Str() != "x -1" {
		t.Errorf("got %v", answer)
	}
	if n := answer.At("ast").At("stmts", 0).At("x").At("node").Str(); n != "Binary" {
		t.Errorf("a bound name is read as %s", n)
	}
	data, message := r.Refused(messages.CodeParseError, "parse", kit.Args{"src": "let a = 1\nlet b ="})
	if data.At("line").Int() != 2 || data.At("span").At("start").Int() == 0 || !strings.Contains(message, "line 2") {
		t.Errorf("got %v, %q", data, message)
	}
	for name, src := range map[string]string{"long": strings.Repeat("1;", 600_000), "large": strings.Repeat("1;", 400_000)} {
		data, _ = r.Refused(messages.CodeQuota, "parse", kit.Args{"src": src})
		if data.At("limit").Int() == 0 {
			t.Errorf("a %s source: got %v", name, data)
		}
	}
	if before := r.Exec("1").At("ref").Str(); before != "out:2" {
		t.Errorf("parsing stored values: the next one is %s", before)
	}
}

// Explain tells what a plan would, and keeps nothing.
func TestExplain(t *testing.T) {
	w, r := served(t)
	if err := os.WriteFile(filepath.Join(w.Work, "clean.shl"), []byte("rm notes.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	answer := r.Must("explain", kit.Args{"src": "mkdir a; ^git push"})
	kinds := func(v kit.Val) (out []string) {
		for _, e := range v.At("effects").List() {
			out = append(out, e.At("kind").Str())
		}
		return out
	}
	wants(t, "effects", kinds(answer), "fs_write", "proc_spawn")
	if answer.At("reversibility").Str() != "unknown" || !answer.At("spawns").Bool() {
		t.Errorf("got %v", answer)
	}
	wants(t, "effects of a file", kinds(r.Must("explain", kit.Args{"src": "source ./clean.shl"})), "fs_delete")
	tree := r.Must("parse", kit.Args{"src": "rm notes.txt"}).At("ast")
	wants(t, "effects of a tree", kinds(r.Must("explain", kit.Args{"ast": json.RawMessage(tree.String())})), "fs_delete")
	if answer := r.Must("explain", kit.Args{"src": "1 + 1"}); len(answer.At("effects").List()) != 0 || answer.At("reversibility").Str() != "reversible" {
		t.Errorf("got %v", answer)
	}
	r.Refused(messages.CodeParseError, "explain", kit.Args{"src": "1 +"})
	for _, args := range []kit.Args{{}, {"src": "1", "ast": kit.Args{}}, {"ast": kit.Args{"node": "Let"}}, {"ast": 3}} {
		r.Refused(messages.CodeInvalidParams, "explain", args)
	}
	if n := len(r.Must("plan.list", nil).At("plans").List()); n != 0 {
		t.Errorf("%d plans were kept", n)
	}
	if n := len(r.Must("journal.query", nil).At("entries").List()); n != 0 {
		t.Errorf("%d entries were kept", n)
	}
	if _, err := os.Stat(filepath.Join(w.Work, "a")); err == nil {
		t.Error("explaining made a directory")
	}
}

// Parse and complete answer before the attachment, without any session's names.
func TestSourceBeforeAttachment(t *testing.T) {
	w, r := served(t)
	r.Exec("let harbour = 1")
	conn, err := net.Dial("unix", r.Attachment.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(kit.Long))
	in := bufio.NewReader(conn)
	call := func(frame string) string {
		t.Helper()
		if _, err := conn.Write([]byte(frame + "\n")); err != nil {
			t.Fatal(err)
		}
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	for _, c := range []struct{ frame, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"parse","params":{"src":"1"}}`, `"ast_version":1,"ast":{"node":"Program"`},
		{`{"jsonrpc":"2.0","id":2,"method":"complete","params":{"src":"whi"}}`, `"label":"while"`},
		{`{"jsonrpc":"2.0","id":3,"method":"complete","params":{"src":"harb"}}`, `"candidates":[]`},
		{`{"jsonrpc":"2.0","id":4,"method":"complete","params":{"src":"cat /et"}}`, `"candidates":[]`},
		{`{"jsonrpc":"2.0","id":5,"method":"parse","params":{"src":"1 +"}}`, `"code":-32001`},
		{`{"jsonrpc":"2.0","id":6,"method":"parse","params":{"source":"1"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","id":7,"method":"explain","params":{"src":"1"}}`, `"code":-32000`},
		{`{"jsonrpc":"2.0","id":8,"method":"session.attach","params":{"session":"main","cwd":"` + w.Work + `"}}`, `"session":"main"`},
		{`{"jsonrpc":"2.0","id":9,"method":"complete","params":{"src":"harb"}}`, `"label":"harbour"`},
	} {
		if got := call(c.frame); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.frame, got, c.want)
		}
	}
}

// Completion shows no file and no variable that the policy keeps from its
// caller.
func TestCompleteUnderPolicy(t *testing.T) {
	w := world(t)
	w.Policy(`[principal.local-human.effects]
"fs.read" = { allow = ["/**"], deny = ["` + w.Work + `/secret/**"] }
"env.read" = { allow = ["*"], deny = ["HIDDEN_ONE"] }
`)
	w.Write("secret/key.pem", "x")
	w.Write("open/notes.txt", "x")
	w.Env = append(w.Env, "HIDDEN_ONE=1", "HIDDEN_NOT=1")
	w.StartKernel()
	r := w.Raw("main")
	wants(t, "what may be read", labels(t, r, "cat open/", nil), "open/notes.txt/path")
	wants(t, "what may not", labels(t, r, "cat secret/", nil), "!secret/key.pem/path")
	wants(t, "variables", labels(t, r, "env.HIDDEN", nil), "HIDDEN_NOT/env", "!HIDDEN_ONE/env")
}
