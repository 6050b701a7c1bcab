package interp_test

import (
	"context"
	"testing"
	"time"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// lib is the table that the tests run against.
var lib = builtin.Library()

// run runs a source on a state and gives its value inline, or "code: message".
func run(t *testing.T, s *interp.State, src string) string {
	t.Helper()
	return runWith(t, src, interp.Run{State: s})
}

func runWith(t *testing.T, src string, r interp.Run) string {
	t.Helper()
	p, perr := interp.Parse(src, r.State.Names(), lib)
	if perr != nil {
		return "parse_error: " + perr.Msg
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v, err := p.Run(ctx, r)
	if err != nil {
		return err.Error()
	}
	return value.Inline(v)
}

func newState() *interp.State { return interp.NewState("/w", []string{"HOME=/home/u"}) }

func must(t *testing.T, src string, s *interp.State) *interp.Program {
	t.Helper()
	p, err := interp.Parse(src, s.Names(), lib)
	if err != nil {
		t.Fatalf("parse %q: %v", src, err)
	}
	return p
}
