package kernel

import (
	"fmt"
	"log/slog"
	"os/user"

	"shoal.dev/shoal/mcphttp"
	"shoal.dev/shoal/ptyactor/screen"
)

// Check reads configuration and policy as Start does, and says why a kernel with
// these options would not start. It takes no lock, opens no store and listens
// nowhere, so that it can be asked beside a kernel that runs.
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
	if o.MCPHTTP != "" {
		return mcphttp.CheckAddr(o.MCPHTTP)
	}
	return nil
}
