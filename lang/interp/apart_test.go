package interp_test

import (
	"context"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// A run ends at once when it is cancelled while a library works for it, and the
// work learns that nobody waits for it.
func TestApartIsLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	leave, told := make(chan struct{}), make(chan error)
	s := newState()
	s.Bind("src", value.NewStream("work", true, once(func(m *interp.Machine) (value.Value, error) {
		return interp.Apart(m, func(stop func() error) (value.Value, error) {
			if err := stop(); err != nil {
				t.Errorf("before the cancel: %v", err)
			}
			cancel()
			<-leave
			told <- stop()
			return value.Int(1), nil
		})
	})))
	_, err := must(t, "src.collect()", s).Run(ctx, interp.Run{State: s})
	if err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("got %v", err)
	}
	close(leave)
	if err := <-told; err == nil {
		t.Error("the work is not told to stop")
	}
}

func TestApartGivesResultAndError(t *testing.T) {
	for want, work := range map[string]func(func() error) (value.Value, error){
		"[7]":                    func(func() error) (value.Value, error) { return value.Int(7), nil },
		"oops":                   func(func() error) (value.Value, error) { return value.Null, value.Errorf(value.CodeCustom, "oops") },
		"internal error: broken": func(func() error) (value.Value, error) { panic("broken") },
	} {
		s := newState()
		s.Bind("src", value.NewStream("work", true, once(func(m *interp.Machine) (value.Value, error) { return interp.Apart(m, work) })))
		if got := run(t, s, "src.collect()"); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// once is a source of one item.
func once(f func(*interp.Machine) (value.Value, error)) interp.Source { return &onceSource{f: f} }

type onceSource struct {
	f    func(*interp.Machine) (value.Value, error)
	done bool
}

func (o *onceSource) Next(m *interp.Machine) (value.Value, bool, error) {
	if o.done {
		return value.Null, false, nil
	}
	o.done = true
	v, err := o.f(m)
	return v, true, err
}

func (o *onceSource) Close() {}
