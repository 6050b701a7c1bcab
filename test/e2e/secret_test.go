package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

const hidden = "hunter2-correct-horse"

// keep puts a secret into the store of the kernel.
func keep(t *testing.T, w *kit.World, name, text string) {
	t.Helper()
	dir := filepath.Join(w.State, "secrets")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// leaks are the files of the state directory, the store of secrets apart, that
// hold a text.
func leaks(t *testing.T, w *kit.World, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(w.State, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it has just been removed
		case d.IsDir() && d.Name() == "secrets":
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(path)
		if err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What a secret says is nowhere in the state directory, and in no answer,
// whatever a program does with it.
func TestSecretsAreNotWritten(t *testing.T) {
	w, r := served(t)
	keep(t, w, "token", hidden)
	gate, wait := gateOf(w, "gate")
	answers := []string{r.Exec("let s = secret.get(\"token\")\ns").String()}
	for _, src := range []string{
		"env.TOKEN = s",
		"sh { printf %s \"$TOKEN\" }",
		"let copy = (sh { echo \"it is $TOKEN\" }).out",
		"sh { echo \"$TOKEN\" >&2; exit 3 }",
		"sh { for i in $(seq 1 9000); do echo \"$TOKEN\"; done }",
		"echo (copy)\n[copy, {copy: copy}]",
		"channel(\"user.a\").emit(copy)",
		"let p = plan { http.get(\"http://127.0.0.1:1/\", headers: {auth: s}) }",
		"(spawn { sh { echo \"$TOKEN\" } }).await()",
		"sh { printf '%s' \"x:$TOKEN\" | base64; printf '%s' \"$TOKEN\" | od -An -tx1 | tr -d ' \\n' }",
		"plan { echo (copy) }",
		"fn f(x = copy) { x }",
		"(http.get(\"http://127.0.0.1:1/\", headers: {auth: s})) catch e { e.msg }",
	} {
		answers = append(answers, r.Exec(src, kit.Args{"request_id": src, "position": "value"}).String())
	}
	for _, form := range []string{base64.StdEncoding.EncodeToString([]byte("x:" + hidden))[4:20], hex.EncodeToString([]byte(hidden))} {
		for i, answer := range answers {
			if bytes.Contains([]byte(answer), []byte(form)) {
				t.Errorf("answer %d holds %s of the secret: %s", i, form, answer)
			}
		}
		if found := leaks(t, w, form); len(found) > 0 {
			t.Errorf("%s of the secret is in %v", form, found)
		}
	}
	data, msg := r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "sh { echo \"$TOKEN\" >&2; exit 3 }", "position": "stmt"})
	answers = append(answers, data.String(), msg)
	task := r.Background("sh { echo \"$TOKEN\" }; " + wait)
	kit.Eventually(t, quick, "output", func() bool { return r.Task(task).At("stdout_len").Int() > 0 })
	answers = append(answers,
		r.Must("task.output", kit.Args{"task": task, "stream": "stdout"}).String(),
		r.Must("session.env", kit.Args{}).String(),
		r.Must("value.get", kit.Args{"ref": "out:3"}).String(),
		r.Must("journal.query", kit.Args{}).String(),
		r.Must("events.read", kit.Args{"channel": "session.transcript"}).String(),
		r.Must("events.read", kit.Args{"channel": "render"}).String(),
	)
	if found := leaks(t, w, hidden); len(found) > 0 {
		t.Errorf("while a task runs, the secret is in %v", found)
	}
	open(t, gate)
	r.Await(task)
	for i, answer := range answers {
		if bytes.Contains([]byte(answer), []byte(hidden)) {
			t.Errorf("answer %d holds the secret: %s", i, answer)
		}
	}
	// The program itself sees what it captured.
	if got := r.Render("copy.contains(\"horse\") && (sh { printf %s \"$TOKEN\" }).out.len() == " + strconv.Itoa(len(hidden))); got != "true" {
		t.Errorf("the program sees something else: %s", got)
	}
	w.KillKernel()
	if found := leaks(t, w, hidden); len(found) > 0 {
		t.Errorf("after the kernel's death, the secret is in %v", found)
	}
	w.StartKernel()
	r = w.Raw("main")
	if got := r.Exec("copy").String(); bytes.Contains([]byte(got), []byte(hidden)) {
		t.Errorf("a binding holds the secret: %s", got)
	}
	r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "s"})
}

// A secret that comes in two pieces, is read in two pages or goes on in the next
// line of a terminal is no less hidden.
func TestSecretsInPieces(t *testing.T) {
	w, r := served(t)
	keep(t, w, "token", hidden)
	r.Exec("env.TOKEN = secret.get(\"token\")")
	gate, wait := gateOf(w, "gate")
	next, goOn := gateOf(w, "next")
	half := len(hidden) / 2
	task := r.Background("sh { printf 'is %.10s' \"$TOKEN\"; }; " + goOn + "; sh { printf '%s.' \"${TOKEN#??????????}\" }; " + wait)
	kit.Eventually(t, quick, "the first half", func() bool { return r.Task(task).At("stdout_len").Int() == 13 })
	open(t, next)
	all := int64(len("is ") + len(hidden) + 1)
	kit.Eventually(t, quick, "the second half", func() bool { return r.Task(task).At("stdout_len").Int() == all })
	for limit := range half {
		text := ""
		for at := int64(0); at < all; {
			page := r.Must("task.output", kit.Args{"task": task, "stream": "stdout", "offset": at, "limit": limit + 1})
			text += page.At("data").Str()
			at = page.At("next").Int()
		}
		if text != "is ***token*************." {
			t.Errorf("in pages of %d: %q", limit+1, text)
		}
	}
	if found := leaks(t, w, hidden); len(found) > 0 {
		t.Errorf("the secret is in %v", found)
	}
	open(t, gate)
	r.Await(task)
	pty := r.Must("pty.open", kit.Args{"cmd": "sh", "args": []string{"-c", "printf '%s' \"0123456789$TOKEN\"; read x"}, "cols": 20, "rows": 5, "record": true}).At("pty_id").Str()
	kit.Eventually(t, quick, "a picture", func() bool { return r.Must("pty.read", kit.Args{"pty_id": pty}).At("version").Int() > 0 })
	screen := r.Must("pty.read", kit.Args{"pty_id": pty, "wait": kit.Args{"regex": "0123456789....", "timeout_ms": 20000}})
	if rows := screen.At("screen").Strs(); len(rows) < 2 || rows[0] != "0123456789***token**" || rows[1] != "***********" {
		t.Errorf("the terminal shows %q", rows)
	}
	r.Must("pty.close", kit.Args{"pty_id": pty})
	if found := leaks(t, w, hidden); len(found) > 0 {
		t.Errorf("the secret is in %v", found)
	}
}

// Whatever part of a value is asked for, nothing of a secret is in the answer.
func TestSecretsInParts(t *testing.T) {
	w, r := served(t)
	keep(t, w, "token", hidden)
	r.Exec("env.TOKEN = secret.get(\"token\")")
	clean := func(what string, answer kit.Val) {
		t.Helper()
		for i := 0; i+4 <= len(hidden); i++ {
			if bytes.Contains([]byte(answer.String()), []byte(hidden[i:i+4])) {
				t.Fatalf("%s shows %q: %s", what, hidden[i:i+4], answer)
			}
		}
	}
	for _, src := range []string{
		`sh { printf 'is %s.' "$TOKEN" }`, `(sh { printf 'is %s.' "$TOKEN" }).out`, `(sh { printf 'is %s.' "$TOKEN" }).stdout`,
	} {
		whole := r.Exec(src, kit.Args{"position": "value"})
		clean(src, whole)
		ref := whole.At("ref").Str()
		for i := range len("is ") + len(hidden) {
			for _, p := range []kit.Args{
				{"format": "raw", "slice": []int{i, i + 5}}, {"path": ".out[" + strconv.Itoa(i) + ".." + strconv.Itoa(i+5) + "]"},
				{"slice": []int{i, i + 5}, "format": "render"}, {"path": "[" + strconv.Itoa(i) + ".." + strconv.Itoa(i+5) + "]"},
			} {
				p["ref"] = ref
				if answer, err := r.Call("value.get", p); err == nil {
					clean(src, answer)
				}
			}
		}
	}
	for cut := range len(hidden) {
		room := strconv.Itoa(256 - cut)
		clean("a preview", r.Exec(`(sh { head -c `+room+` /dev/zero | tr '\0' x; printf %s "$TOKEN"; head -c 20000 /dev/zero | tr '\0' y }).out`))
		clean("a table", r.Exec(`[{cell: (sh { head -c `+strconv.Itoa(60-cut)+` /dev/zero | tr '\0' x; printf '%s' "${TOKEN}yy" }).out}]`))
	}
	for cut := range len(hidden) { // the tenth line of a head ends within the secret
		r.Exec(`(sh { for i in 1 2 3 4 5 6 7 8 9; do echo $i; done; head -c ` + strconv.Itoa(2048-18-cut) + ` /dev/zero | tr '\0' x; printf %s "$TOKEN"; head -c 3000 /dev/zero | tr '\0' y }).out`)
	}
	clean("the transcript", r.Must("events.read", kit.Args{"channel": "session.transcript", "limit": 1000}))
	task := r.Background(`sh { printf %s "$TOKEN"; head -c 65530 /dev/zero | tr '\0' x }`)
	r.Await(task)
	w.KillKernel()
	w.StartKernel()
	r = w.Raw("main")
	kept := r.Must("task.output", kit.Args{"stream": "stdout", "task": task})
	clean("what is kept of a task", kept)
	if kept.At("offset").Int() == 0 {
		t.Errorf("all of the output was kept: %d bytes", kept.At("next").Int())
	}
}

// Who the store refuses, and who policy does.
func TestSecretsAreRefused(t *testing.T) {
	w, r := served(t)
	keep(t, w, "open", hidden)
	os.Chmod(filepath.Join(w.State, "secrets", "open"), 0o644)
	for src, code := range map[string]string{`secret.get("none")`: "not_found", `secret.get("open")`: "permission", `secret.get("../lock")`: "not_found"} {
		data, _ := r.Refused(messages.CodeRaised, "exec", kit.Args{"src": src})
		if got := data.At("error", "code").Str(); got != code {
			t.Errorf("%s: got %s, want %s", src, got, code)
		}
	}
	keep(t, w, "token", hidden)
	dir := filepath.Join(w.Home, ".config", "shoal")
	os.MkdirAll(dir, 0o700)
	policy := "[principal.\"local-human\".effects]\n\"secret.use\" = [\"other\"]\n"
	if err := os.WriteFile(filepath.Join(w.Root, "policy.toml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Exec(`secret.get("token")`)
	w.KillKernel()
	w.StartKernel("--policy", filepath.Join(w.Root, "policy.toml"))
	r = w.Raw("main")
	r.Refused(messages.CodeLeashDenied, "exec", kit.Args{"src": `secret.get("token")`})
}

// The configuration can be read as a record.
func TestConfigIsRead(t *testing.T) {
	w := world(t)
	dir := filepath.Join(w.Home, ".config", "shoal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shoal.toml"), []byte("[limits]\nresident_bytes = 5000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.StartKernel()
	r := w.Raw("main")
	if got := r.Render(`[config.limits.resident_bytes, config.get("none"), config.all().keys()].json()`); got != `[5000000,null,["limits"]]` {
		t.Errorf("got %s", got)
	}
}
