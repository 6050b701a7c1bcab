package gateway

import (
	"reflect"
	"slices"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// Contract is what one method takes and what it answers; the reference of the
// protocol is generated from it.
type Contract struct {
	Method wire.Method
	Params reflect.Type
	// Results are the shapes that an answer may have.
	Results []reflect.Type
}

// Contracts lists the methods that this kernel serves, in the order of the
// method table.
func Contracts() []Contract {
	var out []Contract
	for _, m := range wire.Methods {
		params, served := paramsOf(m.Name)
		if !served {
			continue
		}
		out = append(out, Contract{m, params, results[m.Name]})
	}
	return slices.Clip(out)
}

// paramsOf is the type that a method's params are read into.
func paramsOf(method string) (reflect.Type, bool) {
	switch method {
	case "session.attach":
		return reflect.TypeFor[messages.AttachParams](), true
	case "events.subscribe":
		return reflect.TypeFor[subscribeParams](), true
	case "events.unsubscribe":
		return reflect.TypeFor[unsubscribeParams](), true
	}
	h, served := handlers[method]
	return h.params, served
}

func one[R any]() []reflect.Type { return []reflect.Type{reflect.TypeFor[R]()} }

// results are the shapes of each method's answers.
var results = map[string][]reflect.Type{
	"session.attach":     one[messages.Attached](),
	"session.env":        one[messages.EnvView](),
	"session.reef":       one[messages.ReefView](),
	"session.cwd":        one[messages.PathView](),
	"session.list":       one[messages.Sessions](),
	"session.members":    one[messages.MemberList](),
	"session.close":      one[messages.ClosedSession](),
	"parse":              one[messages.Parsed](),
	"complete":           one[messages.Completed](),
	"explain":            one[messages.Explained](),
	"exec":               slices.Concat(one[messages.Finished](), one[messages.Handed](), one[messages.Plan]()),
	"value.get":          one[messages.ValueView](),
	"blob.get":           one[messages.BlobPiece](),
	"journal.query":      one[messages.JournalPage](),
	"task.list":          one[messages.TaskList](),
	"task.get":           one[messages.TaskRecord](),
	"task.await":         one[messages.TaskRecord](),
	"task.cancel":        one[messages.TaskStateOf](),
	"task.suspend":       one[messages.TaskStateOf](),
	"task.resume":        one[messages.TaskStateOf](),
	"task.output":        one[messages.TaskOutput](),
	"plan.get":           one[messages.Plan](),
	"plan.list":          one[messages.Plans](),
	"plan.apply":         slices.Concat(one[messages.Finished](), one[messages.Handed]()),
	"cap.request":        one[messages.CapAnswer](),
	"cap.pending":        one[messages.Plans](),
	"cap.grant":          one[messages.CapAnswer](),
	"cap.deny":           one[messages.CapAnswer](),
	"pty.open":           one[messages.PTYOpened](),
	"pty.send":           one[messages.PTYSent](),
	"pty.read":           one[messages.Screen](),
	"pty.resize":         one[messages.PTYResized](),
	"pty.keyboard":       one[messages.PTYHeld](),
	"pty.record":         one[messages.PTYRecording](),
	"pty.close":          one[messages.PTYClosed](),
	"pty.list":           one[messages.PTYList](),
	"events.read":        one[messages.EventPage](),
	"events.publish":     one[messages.EventPublished](),
	"events.subscribe":   one[messages.Subscribed](),
	"events.unsubscribe": one[messages.Unsubscribed](),
	"undo":               slices.Concat(one[messages.Finished](), one[messages.Handed]()),
	"kernel.info":        one[messages.KernelInfo](),
	"kernel.shutdown":    one[messages.Stopping](),
}
