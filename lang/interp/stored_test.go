package interp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/interp"
)

// chain binds f to n functions of which each captured the one before it twice.
const chain = "var f = x => x; for i in 0..%N { let g = f; let h = f; f = x => if x > 0 { g(x) } else { h(x) } }"

func chained(n string) string { return strings.ReplaceAll(chain, "%N", n) }

// What a function has captured is stored once, so that the stored form grows
// with the number of functions and not with the paths to them.
func TestStoredFunctionsGrowLinearly(t *testing.T) {
	length := func(n string) int {
		s := newState()
		run(t, s, chained(n))
		return len(export(t, s, "f"))
	}
	if short, long := length("50"), length("500"); long > 12*short {
		t.Errorf("50 functions take %d bytes, 500 take %d", short, long)
	}
	s := newState()
	run(t, s, chained("200"))
	if got := run(t, reload(t, s), "[f(5), f(-5)]"); got != "[5, -5]" {
		t.Errorf("after loading: got %s", got)
	}
}

// export is the stored form of a binding as it is written.
func export(t *testing.T, s *interp.State, name string) []byte {
	t.Helper()
	st, err := s.Export(name, nil)
	if err != nil || st.Lost != "" {
		t.Fatalf("export %s: %v %s", name, err, st.Lost)
	}
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestStoredFunctionsHaveADepth(t *testing.T) {
	s := newState()
	run(t, s, chained("100000"))
	st, err := s.Export("f", nil)
	if err != nil || !strings.Contains(st.Lost, "`f` could not be kept") || !strings.Contains(st.Lost, "deep") {
		t.Errorf("got %v, lost %q, %d bytes", err, st.Lost, len(st.Data))
	}
}

// Functions that are shared before are shared after, and see one variable.
func TestStoredFunctionsStayShared(t *testing.T) {
	s := newState()
	run(t, s, "fn make() { var n = 0; fn inc() { n += 1; n }; let twice = () => { inc(); inc() }; [inc, twice, inc] }\nlet all = make()")
	s = reload(t, s)
	if got := run(t, s, "[all[0](), all[1](), all[2]()]"); got != "[1, 3, 4]" {
		t.Errorf("got %s", got)
	}
}

func TestStoredFunctionsDamaged(t *testing.T) {
	s := newState()
	run(t, s, "let one = 1; let f = x => x + one; let g = x => f(x)")
	whole, err := s.Export("g", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(*interp.Stored){
		"no functions":   func(st *interp.Stored) { st.Funcs = nil },
		"no code":        func(st *interp.Stored) { st.Funcs[0].Like = 7 },
		"negative code":  func(st *interp.Stored) { st.Funcs[0].Like = -1 },
		"other captures": func(st *interp.Stored) { st.Funcs[0].Vals = append(st.Funcs[0].Vals, st.Data, st.Data) },
	} {
		st := whole
		st.Funcs = append([]interp.StoredFunc(nil), whole.Funcs...)
		damage(&st)
		fresh := newState()
		if err := fresh.Import("g", st, lib, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := run(t, fresh, "g(1)"); !strings.Contains(got, "could not be loaded") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestStoredMask(t *testing.T) {
	s := newState()
	run(t, s, "fn make(key) { x => key + \"s3cret\" }\nlet f = make(\"s3cret\")")
	st, err := s.Export("f", nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	st.Mask(func(b []byte) {
		seen += strings.Count(string(b), "s3cret")
		copy(b, strings.ReplaceAll(string(b), "s3cret", "******"))
	})
	if seen != 2 || strings.Contains(st.Funcs[0].Src, "s3cret") {
		t.Errorf("seen %d times, source %q", seen, st.Funcs[0].Src)
	}
}
