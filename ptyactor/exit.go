package ptyactor

import (
	"fmt"
	"os"
	"syscall"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// exitOf splits a wait status into an exit status or a signal's name.
func exitOf(state *os.ProcessState) *messages.PTYExit {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		name := proc.SignalName(ws.Signal())
		return &messages.PTYExit{Signal: &name}
	}
	code := state.ExitCode()
	return &messages.PTYExit{Status: &code}
}

func lostWarning(n int) string {
	return fmt.Sprintf("the terminal reads by lines of at most %d bytes (canonical mode): %d bytes are lost", lineMax, n)
}
