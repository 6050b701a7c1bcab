package wire

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names are listed a second time on purpose: a method that comes or goes
// must be meant.
func TestMethodsAreComplete(t *testing.T) {
	want := strings.Fields(`
		session.attach session.env session.reef session.cwd session.list session.members session.close
		parse complete explain exec value.get blob.get journal.query
		task.list task.get task.await task.cancel task.suspend task.resume task.output
		plan.get plan.list plan.apply cap.request cap.grant cap.deny cap.pending
		pty.open pty.send pty.read pty.resize pty.keyboard pty.record pty.close pty.list
		events.read events.publish events.subscribe events.unsubscribe
		undo kernel.info kernel.shutdown`)
	var got, public []string
	for _, m := range Methods {
		got = append(got, m.Name)
		if m.Class == Public {
			public = append(public, m.Name)
		}
		if m.Class.String() == "unknown" || m.Doc == "" {
			t.Errorf("%s: class %v, doc %q", m.Name, m.Class, m.Doc)
		}
		if found, ok := Lookup(m.Name); !ok || found != m {
			t.Errorf("Lookup(%q): got %v, %v", m.Name, found, ok)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("methods (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"session.attach", "parse", "complete"}, public); diff != "" {
		t.Errorf("methods that answer before attachment (-want +got):\n%s", diff)
	}
	if _, ok := Lookup("exec "); ok {
		t.Error(`Lookup("exec ") found something`)
	}
}
