package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxEndpoint bounds what is read of an endpoint file.
const maxEndpoint = 64 << 10

// Endpoint is the kernel's notice in its state directory. The kernel writes it
// before it is ready and leaves it behind when it ends: whether anybody serves
// is found out by dialing, never from this file, and PID is for people only.
type Endpoint struct {
	Socket   string `json:"socket"`
	KernelID string `json:"kernel_id"`
	Version  string `json:"version"`
	Protocol string `json:"protocol"`
	PID      int    `json:"pid"`
	// Args are the flags with which a successor must be started so that it is
	// as strict as this one (policy, tokens, listeners), paths absolute; without
	// the state directory, the socket and the ready descriptor.
	Args []string `json:"args,omitempty"`
}

// EndpointFile is where the notice stands.
func (p Paths) EndpointFile() string { return filepath.Join(p.StateDir, "endpoint") }

// ReadEndpoint reads the notice. A missing one is os.ErrNotExist. One that is
// not ours is refused, since it says whom to send tokens to.
func (p Paths) ReadEndpoint() (Endpoint, error) {
	f, err := os.Open(p.EndpointFile())
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint: %w", err)
	}
	defer f.Close()
	if err := ownFile(f); err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxEndpoint))
	if err != nil {
		return Endpoint{}, fmt.Errorf("read endpoint: %w", err)
	}
	var e Endpoint
	if err := json.Unmarshal(text, &e); err != nil {
		// Not as if it were missing: the flags of the last kernel, its policy
		// among them, stand in it.
		return Endpoint{}, fmt.Errorf("read endpoint %s: it is damaged; shoal-kernel, started by hand, writes it anew: %w", p.EndpointFile(), err)
	}
	return e, nil
}

// WriteEndpoint replaces the notice in one step.
func (p Paths) WriteEndpoint(e Endpoint) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write endpoint: %w", err)
		}
	}()
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(p.StateDir, ".endpoint-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(f.Name())
		return err
	}
	if err := os.Rename(f.Name(), p.EndpointFile()); err != nil {
		os.Remove(f.Name())
		return err
	}
	return nil
}
