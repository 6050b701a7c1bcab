package e2e

import (
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// What the instructions show at the handshake runs as it is shown, on a
// machine where the files and programs that it names exist.
func TestTheCardRuns(t *testing.T) {
	w := world(t)
	w.Write("src/a.go", "package a\n")
	w.Write("sub/b.txt", "b\n")
	w.Write("notes.txt", "one\nTODO two\n")
	w.Write("go.mod", "module m\n")
	for _, program := range []string{"git", "make", "go"} {
		w.Stub(program, "echo ran "+program+" >&2\n")
	}
	f := w.StartFacade("card")
	text := f.Initialize().At("instructions").Str()
	ran := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Work like this") {
			break
		}
		row, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "- ")
		if !ok {
			continue
		}
		src, _, _ := strings.Cut(row, "  — ")
		ran++
		f.Exec("cd '" + w.Work + "'")
		if a := f.Tool("shoal_exec", kit.Args{"src": src}); a.Code() != 0 {
			t.Errorf("%s: %v", src, a)
		}
	}
	if ran < 10 {
		t.Errorf("only %d rows in %q", ran, text)
	}
}

// In a command catch is a word like any other; who meant the other thing is
// told.
func TestCatchInACommandIsExplained(t *testing.T) {
	w := world(t)
	f := w.Facade("s")
	for _, src := range []string{`rm missing catch e { e.msg }`, `^false catch e { e.msg }`} {
		a := f.Tool("shoal_exec", kit.Args{"src": src})
		hint := a.Structured.At("data", "error", "hint").Str()
		if a.Code() != messages.CodeRaised || !strings.Contains(hint, "parentheses") {
			t.Errorf("%s: %v", src, a)
		}
	}
}
