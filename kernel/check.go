package kernel

import (
	"fmt"
	"log/slog"
	"net"
	"os/user"
	"path/filepath"

	"shoal.dev/shoal/bus"
	"shoal.dev/shoal/mcphttp"
	"shoal.dev/shoal/ptyactor/screen"
)

// Check reads configuration and policy as Start does, and says why a kernel with
// these options would not start. It takes no lock, opens no store and leaves
// nothing bound, so that it can be asked beside a kernel that runs, whose
// addresses a successor can have.
func Check(o Options) error {
	o.Log = slog.New(slog.DiscardHandler)
	o.normalize()
	if _, err := o.applyConfig(); err != nil {
		return err
	}
	if _, err := newPolicy(o); err != nil {
		return err
	}
	if _, err := screen.ParseEngine(o.PTYEngine); err != nil {
		return err
	}
	if o.SocketGroup != "" {
		if _, err := user.LookupGroup(o.SocketGroup); err != nil {
			return fmt.Errorf("socket group: %w", err)
		}
	}
	running := o.running()
	if o.NATS != "" {
		if err := bus.CheckListen(o.NATS, filepath.Dir(o.Paths.Socket), running); err != nil {
			return err
		}
	}
	switch {
	case o.MCPHTTP == "":
		return nil
	case running != "": // whose address it may be
		return mcphttp.CheckAddr(o.MCPHTTP)
	default:
		return mcphttp.CheckListen(o.MCPHTTP)
	}
}

// running is the id of the kernel that serves the state directory, "" when none
// does.
func (o *Options) running() string {
	e, err := o.Paths.ReadEndpoint()
	if err != nil {
		return ""
	}
	c, err := net.Dial("unix", e.Socket)
	if err != nil {
		return ""
	}
	c.Close()
	return e.KernelID
}
