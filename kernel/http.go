package kernel

import (
	"context"

	"shoal.dev/shoal/mcphttp"
	"shoal.dev/shoal/messages"
)

// openHTTP listens for MCP over HTTP, if that is wanted.
func (k *Kernel) openHTTP() (err error) {
	if k.o.MCPHTTP == "" {
		return nil
	}
	o := k.o.HTTP
	o.MCP, o.Admit, o.Log = k.mcp, k.admit, k.log
	k.http, err = mcphttp.Listen(k.o.MCPHTTP, o)
	return err
}

// HTTPAddr is where MCP is served over HTTP; empty means nowhere.
func (k *Kernel) HTTPAddr() string {
	if k.http == nil {
		return ""
	}
	return k.http.Addr()
}

// serveHTTP serves until the listener is closed.
func (k *Kernel) serveHTTP() {
	if err := k.http.Serve(); err != nil {
		k.log.Error("MCP over HTTP is not served", "err", err)
	}
}

// admit says whom a token stands for.
func (k *Kernel) admit(secret string) (mcphttp.Caller, *messages.Error) {
	bearer, refusal := k.gate.Bearer(secret)
	if refusal != nil {
		return mcphttp.Caller{}, refusal
	}
	return mcphttp.Caller{ID: bearer.ID(), Join: func(ctx context.Context, name messages.SessionName) (mcphttp.Seat, *messages.Error) {
		guest, refusal := bearer.Join(ctx, name)
		if refusal != nil {
			return nil, refusal
		}
		return guest, nil
	}}, nil
}
