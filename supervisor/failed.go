package supervisor

import "fmt"

// Failed is the answer to a request whose actor could not answer itself,
// because it panicked, was stopping or stopped, or does not exist. It always
// travels as a pointer: an actor receives *Failed, and Await returns one.
//
// After a panic the request may or may not have had its effect; the asker sends
// it again if it still needs the answer.
type Failed struct {
	Request any    // the message, as it was sent
	Actor   string // full name of who was asked
	Reason  string // the panic's text, or why there was nobody to ask
}

// Error makes a *Failed an error.
func (f *Failed) Error() string {
	return fmt.Sprintf("ask %s for %T: %s", f.Actor, f.Request, f.Reason)
}

// Why a request failed without a panic.
const (
	reasonStopping = "actor is stopping"
	reasonStopped  = "actor has stopped"
	reasonDead     = "no such actor"
)
