package conformance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/value"
)

// These tests run the same text through an interpreter block and through the
// interpreter itself, and the same arguments through a command line and through
// exec, and compare byte for byte. Tests named B… are cases from the field.

// differ runs programs in one directory, through the language and without it.
type differ struct {
	t     *testing.T
	dir   string
	hosts *hosts
	c     *lang.Compiler
}

func newDiffer(t *testing.T) *differ {
	hosts, err := newHosts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hosts.runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return &differ{t, t.TempDir(), hosts, lang.NewCompiler()}
}

// trash is a directory that can be one: a trash is its owner's alone, whatever
// the umask.
func trash(t *testing.T) string {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run is the outcome that a program ends with.
func (d *differ) run(src string) *value.Outcome {
	d.t.Helper()
	r := evaluate(d.dir, src, d.hosts.host(trash(d.t)), d.c)
	if r.parse != nil || r.err != nil || r.value.Kind() != value.KindOutcome {
		d.t.Fatalf("got %s, want an outcome, from %.300q", r.show(), src)
	}
	return r.value.AsOutcome()
}

func (d *differ) bytes(v value.Value) string {
	d.t.Helper()
	b, err := v.AsBytes().All(0)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// same holds a command's outcome against that of a command that was run without
// the language.
func (d *differ) same(src string, argv ...string) {
	d.t.Helper()
	got := d.run("let r = (" + src + ")\nr")
	var out, errs bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = d.dir, environ(), &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		d.t.Fatal(err)
	}
	if o := d.bytes(got.Stdout); o != out.String() {
		d.t.Errorf("got stdout %.300q, want %.300q, from %.300q", o, out.String(), src)
	}
	if e := d.bytes(got.Stderr); e != errs.String() {
		d.t.Errorf("got stderr %.300q, want %.300q, from %.300q", e, errs.String(), src)
	}
	if status := cmd.ProcessState.ExitCode(); got.Status == nil || *got.Status != status {
		d.t.Errorf("got status %v, want %d, from %.300q", got.Status, status, src)
	}
}

// shell holds `sh { … }`, on one line or several, and sh”'…”' against sh -c.
// The payload neither begins nor ends with white space.
func (d *differ) shell(payload string) {
	d.t.Helper()
	d.same("sh { "+payload+" }", "sh", "-c", payload)
	d.same("sh {\n"+payload+"\n}", "sh", "-c", payload)
	if !strings.Contains(payload, "'''") && !strings.HasSuffix(payload, "'") {
		d.same("sh'''\n"+payload+"\n'''", "sh", "-c", payload)
	}
}

func TestB37CRLF(t *testing.T) {
	d := newDiffer(t)
	if r := evaluate(d.dir, "let a = 1\r\na + 1\r\n", d.hosts.host(trash(t)), d.c); r.show() != "2" {
		t.Errorf("got %s, want 2", r.show())
	}
	body := "x=1\nif [ $x = 1 ]; then\n  echo one\nfi\ncat <<EOF\na $x\nEOF"
	d.same("sh {\r\n"+strings.ReplaceAll(body, "\n", "\r\n")+"\r\n}", "sh", "-c", body)
	d.same("sh'''\r\n"+strings.ReplaceAll(body, "\n", "\r\n")+"\r\n'''", "sh", "-c", body)
}

func TestB39PipelineStatus(t *testing.T) {
	d := newDiffer(t)
	for _, payload := range []string{
		"(echo '2 failed'; exit 3) | tail -1",
		"false | true", "true | false", "exit 3 | cat", "echo a | sh -c 'exit 5'",
	} {
		d.shell(payload)
	}
}

func TestB42HereDocuments(t *testing.T) {
	d := newDiffer(t)
	for _, payload := range []string{
		"cat <<'EOF'\nit's $x \\`y\\`\nEOF",
		"cat <<'EOF'\nit's $x `y` \"q\" } { ${z} $(w)\nEOF",
		"x=5; cat <<EOF\nit's $x } \"q\" ${x}\nEOF",
		"cat <<-EOF\n\ttab } '\n\tEOF",
		"cat <<\\EOF\n'\"`{{{\nEOF",
		"cat <<A; cat <<'B'\n}\nA\n{ '\nB",
		"cat <<EOF | tr a-z A-Z\nit's {\nEOF",
		"cat <<'EOF' # it's a } comment\n$x\nEOF",
		"cat <<'E O F'\nit's\nE O F",
	} {
		d.same("sh {\n"+payload+"\n}", "sh", "-c", payload)
		d.same("sh'''\n"+payload+"\n'''", "sh", "-c", payload)
	}
}

func TestB44BraceGroups(t *testing.T) {
	d := newDiffer(t)
	for _, payload := range []string{
		"true | true; { echo in; }",
		"{ echo a; { echo b; }; } | cat",
		"cat <<EOF-1\nx\nEOF-1",
		"cat <<'my-tag' | cat\n$$ } '\nmy-tag",
		"f() { echo \"$1\"; }; f '}'",
		"echo ${x:-'}'} ${#PWD} $((1 + 2)) $(echo ')}') `echo }`",
		"case a in a) echo '{';; b) echo '}';; esac",
		"echo a#b # } '",
		"echo \\} \\{ \\' \\\" '\\'",
		"x='{'; echo \"$x\" \"${x}\" \"}\"",
	} {
		d.same("sh {\n"+payload+"\n}", "sh", "-c", payload)
	}
	got := d.bytes(d.run(`(sh { true | true; { echo in; }; echo "PID=$$" })`).Stdout)
	var pid int
	if n, err := fmt.Sscanf(got, "in\nPID=%d\n", &pid); n != 1 || err != nil || pid < 2 {
		t.Errorf("got %q, want in and a process id", got)
	}
}

func TestB45CommentAtTheEnd(t *testing.T) {
	d := newDiffer(t)
	d.same("sh {\n  echo one\n  echo two\n  # done\n}", "sh", "-c", "echo one\necho two\n# done")
	d.same("python3 {\n  print(1)\n  # it's done }\n}", "python3", "-c", "print(1)\n# it's done }")
	d.same("sh {\n  # only a comment\n}", "sh", "-c", "# only a comment")
}

func TestB35FileNamesOfAnyBytes(t *testing.T) {
	d := newDiffer(t)
	names := []string{"p\xff", "\xf0\x9f", "a\nb", " lead", "-dash", "q'\"", "[x]", "*", "$HOME", "`x`", "\\", "{a,b}", "~", "é"}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	count := evaluate(d.dir, "(ls .).len()", d.hosts.host(trash(t)), d.c)
	if want := fmt.Sprint(len(names)); count.show() != want {
		t.Errorf("got %s rows, want %s", count.show(), want)
	}
	all := d.bytes(d.run(`(^printf '%s\000' ...((ls -a).map(.path)))`).Stdout)
	for _, name := range names {
		if !strings.Contains(all, filepath.Join(d.dir, name)+"\x00") {
			t.Errorf("%q did not reach the program as it is: got %q", name, all)
		}
	}
	if r := evaluate(d.dir, "for f in (ls -a).out { rm --permanent (f.path) }", d.hosts.host(trash(t)), d.c); r.err != nil {
		t.Error(r.show())
	}
	if left, err := os.ReadDir(d.dir); err != nil || len(left) != 0 {
		t.Errorf("got %v %v, want nothing left", left, err)
	}
}

func TestB47BracketsInTheDirectory(t *testing.T) {
	d := newDiffer(t)
	d.dir = filepath.Join(d.dir, "[x]*?")
	if err := os.Mkdir(d.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ src, want string }{
		{"touch f; (ls .).len()", "1"},
		{`glob("*").expand().map(.name)`, `["f"]`},
		{`glob("**/f").expand().len()`, "1"},
		{"(^printf '%s' *).out == path(\"f\").abs().str()", "true"},
		{"(ls *).map(.name)", `["f"]`},
		{"rm *; (ls).len()", "0"},
	} {
		if r := evaluate(d.dir, test.src, d.hosts.host(trash(t)), d.c); r.show() != test.want {
			t.Errorf("%s: got %s, want %s", test.src, r.show(), test.want)
		}
	}
}

func TestB48HabitsStartNothing(t *testing.T) {
	d := newDiffer(t)
	for _, test := range []struct{ src, form string }{
		{"touch ran\nls | wc -l", "(ls)"},
		{"touch ran\necho $HOME", "env.HOME"},
		{"touch ran\ncat <<EOF\nx\nEOF", ".feed("},
		{"touch ran\necho `ls`", "(ls"},
		{"touch ran\necho $(ls)", "(ls)"},
		{"touch ran\nls 2>&1", "sh { "},
	} {
		r := evaluate(d.dir, test.src, d.hosts.host(trash(t)), d.c)
		switch {
		case r.parse == nil:
			t.Errorf("%q: got %s, want a parse error", test.src, r.show())
		case !strings.Contains(r.parse.Hint, test.form) || r.parse.End <= r.parse.Start:
			t.Errorf("%q: got hint %q at %d–%d, want the form %q and a span", test.src, r.parse.Hint, r.parse.Start, r.parse.End, test.form)
		}
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "ran")); err == nil {
		t.Error("something ran")
	}
}

// pieces are what generated arguments are made of.
var pieces = []string{
	"", "a", "-", "--", "-n", "--k=v", "'", `"`, "\\", "\n", "\r", "\t", " ", "*", "?", "[a]", "[", "]", "{", "}", "{a,b}", "(", ")",
	"$", "$HOME", "${x}", "$(ls)", "`", "`ls`", "#", "~", "~/", "&", "&&", ";", "|", "<", ">", "2>", "!", "%", "%s", "=", "x=1",
	"é", "日本", "\u00a0", "\u2028", "🙂", "\x01", "\x7f", "'''", `"""`, "../", "/", ".", "..", "EOF", "<<EOF", "\\n", "\\0", "@", "^", ",",
}

// generated are arguments: every piece, mixtures of pieces, and a long one. The
// seed is fixed.
func generated() []string {
	r := rand.New(rand.NewPCG(1, 2))
	args := append([]string(nil), pieces...)
	for range 120 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		args = append(args, b.String())
	}
	return append(args, strings.Repeat("a long argument: \"y\" $z {\n", 100<<10/27))
}

// literal writes text as a string of the language.
func literal(text string) string {
	r := strings.NewReplacer("\\", `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "{", `\{`, "}", `\}`)
	return `"` + r.Replace(text) + `"`
}

// word writes text as a command word with escapes, if it can be one.
func word(text string) (string, bool) {
	if text == "" || strings.ContainsAny(text, "\n\r\u00a0\u2028\x01") || strings.HasPrefix(text, "~") {
		return "", false
	}
	var pairs []string
	for _, c := range "\\;&|<>(){}[]*?$\"'#` \t" {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...).Replace(text), true
}

// quoted writes text as one word of sh.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func TestArgumentsReachProgramsAsTheyAre(t *testing.T) {
	d := newDiffer(t)
	args := generated()
	for start := 0; start < len(args); start += 16 {
		batch := args[start:min(start+16, len(args))]
		argv := append([]string{"printf", `%s\000`}, batch...)
		forms := map[string][]string{}
		for _, a := range batch {
			forms["string"] = append(forms["string"], literal(a))
			forms["value"] = append(forms["value"], "("+literal(a)+")")
			half := strings.IndexByte(a, ' ') + 1 // a word or two string pieces that touch
			forms["touching"] = append(forms["touching"], "("+literal(a[:half])+")"+literal(a[half:])+"("+literal("")+")")
			if w, ok := word(a); ok && !strings.HasPrefix(a, "-") {
				forms["word"] = append(forms["word"], w)
			} else {
				forms["word"] = append(forms["word"], literal(a))
			}
		}
		for _, form := range forms {
			d.same("^printf '%s\\000' "+strings.Join(form, " "), argv...)
		}
		d.same("^printf '%s\\000' ...(["+strings.Join(forms["string"], ", ")+"])", argv...)
		d.same("run(\"printf\", \"%s\\\\000\", "+strings.Join(forms["string"], ", ")+")", argv...)
	}
}

func TestBlocksReachShellsAsTheyAre(t *testing.T) {
	d := newDiffer(t)
	for _, a := range generated() {
		if strings.Contains(a, "\r") { // source has no carriage returns before newlines
			continue
		}
		payload := `printf '%s\000' ` + quoted(a)
		if strings.Contains(a, "\n") { // on lines of its own, indented as it stands
			d.same("sh {\n"+payload+"\n}", "sh", "-c", payload)
			continue
		}
		d.shell(payload)
	}
}

func TestEnvironmentReachesProgramsAsItIs(t *testing.T) {
	d := newDiffer(t)
	for _, a := range generated() {
		for _, src := range []string{
			"(V=" + literal(a) + " ^printenv V)",
			"env.V = " + literal(a) + "\n(^printenv V)",
			"with env: {V: " + literal(a) + "} { (^printenv V) }",
		} {
			if got := d.bytes(d.run(src).Stdout); got != a+"\n" {
				t.Errorf("got %.200q, want %.200q, from %.200q", got, a, src)
			}
		}
	}
}

func TestFedTextReachesProgramsAsItIs(t *testing.T) {
	d := newDiffer(t)
	for _, a := range generated() {
		src := literal(a) + ".feed(^cat)"
		if got := d.bytes(d.run(src).Stdout); got != a {
			t.Errorf("got %.200q, want %.200q", got, a)
		}
	}
}
