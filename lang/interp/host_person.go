package interp

import (
	"context"

	"shoal.dev/shoal/lang/value"
)

// Terminal is the terminal of the person whose program runs.
type Terminal interface {
	// Interact runs a program on the terminal to its end. Nothing is captured.
	Interact(ctx context.Context, spec ExecSpec) (*Exit, error)
	// Pick lets the person choose lines by their index, one unless multi; false
	// when the person gives up.
	Pick(ctx context.Context, prompt string, lines []string, multi bool) ([]int, bool, error)
}

// Undo reverses what earlier statements did to files.
type Undo interface {
	// Undo reverses the statements of an entry, or, when that is "", the newest
	// one that can be reversed: the record {entry, undone, actions}. stale_undo
	// when a file has changed since, custom when there is nothing to undo.
	Undo(ctx context.Context, entry string) (value.Value, error)
}

// Interact runs a program on the host's terminal, with its arguments as they
// are. The result is an outcome; a failed one is no error.
func (m *Machine) Interact(argv []string, text string) (value.Value, error) {
	argv, path, err := m.executable(argv)
	if err != nil {
		return value.Null, err
	}
	exit, err := m.host.Terminal.Interact(m.ctx, ExecSpec{
		Argv: argv, Path: path, Cwd: m.Cwd(), Env: m.Environ(), Overlay: m.overlayEnviron(), Cmd: text,
	})
	if err != nil {
		return value.Null, err
	}
	return value.NewOutcome(&value.Outcome{
		Status: exit.Status, Signal: exit.Signal, PID: exit.PID, Dur: exit.Dur, Cmd: text,
		OK:     exit.Status != nil && *exit.Status == 0,
		Stdout: value.NewBlob(exit.Stdout), Stderr: value.NewBlob(exit.Stderr),
	}), nil
}
