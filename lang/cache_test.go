package lang_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

func TestCompileCache(t *testing.T) {
	c := lang.NewCompiler()
	a, b := interp.NewState("/", nil), interp.NewState("/", nil)
	first, _ := c.Compile("1 + 1", a)
	if again, _ := c.Compile("1 + 1", b); again != first {
		t.Error("the same source is compiled twice")
	}
	b.Bind("x", value.Int(5))
	plain, perr := c.Compile("x -1", a)
	if perr != nil {
		t.Fatal(perr)
	}
	bound, perr := c.Compile("x -1", b)
	if perr != nil {
		t.Fatal(perr)
	}
	if plain == bound {
		t.Error("a name that decides how source is read is not part of the key")
	}
	if v, err := bound.Run(context.Background(), interp.Run{State: b}); err != nil || value.Inline(v) != "4" {
		t.Errorf("got %v, %v", value.Inline(v), err)
	}
	if _, perr := c.Compile("1 +", a); perr == nil {
		t.Error("no parse error")
	}
}

// A program may run in many sessions at once.
func TestSharedProgram(t *testing.T) {
	c := lang.NewCompiler()
	src := "fn f(r) { r.a + r.b }\nvar s = 0\nfor i in 0..200 { s += f({a: i, b: 1}) + [{k: i}].map(.k).sum() }\ns"
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 20 {
				s := interp.NewState("/", nil)
				p, perr := c.Compile(src, s)
				if perr != nil {
					t.Error(perr)
					return
				}
				v, err := p.Run(context.Background(), interp.Run{State: s})
				if err != nil || value.Inline(v) != "40000" {
					t.Errorf("got %s, %v", value.Inline(v), err)
				}
				if _, perr := c.Compile(fmt.Sprintf("%d + %d", i, j), s); perr != nil {
					t.Error(perr)
				}
			}
		}()
	}
	wg.Wait()
}

// A program takes a hundred times as much memory as its source: long ones are
// not remembered, and those that are do not add up.
func TestLongProgramsAreNotKept(t *testing.T) {
	c := lang.NewCompiler()
	s := interp.NewState("/", nil)
	compile := func(src string) *lang.Program {
		t.Helper()
		p, perr := c.Compile(src, s)
		if perr != nil {
			t.Fatal(perr)
		}
		return p
	}
	long := "\"" + strings.Repeat("x", 100_000) + "\""
	if compile(long) == compile(long) {
		t.Error("a source of 100,000 bytes is remembered")
	}
	first := compile("1")
	for i := range 40 {
		compile(fmt.Sprintf("%d # %s", i+2, strings.Repeat("x", 30_000)))
	}
	if compile("1") == first {
		t.Error("the oldest program is remembered after 1.2 MB of others")
	}
}
