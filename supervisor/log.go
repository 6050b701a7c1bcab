package supervisor

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// quiet takes the library's log lines. What the library says below a warning is
// debugging to us. It attaches whole messages, which hold what users typed, so
// only their type is kept.
type quiet struct{ to slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.to.Enabled(ctx, demoted(level))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	line := slog.NewRecord(r.Time, demoted(r.Level), r.Message, r.PC)
	line.AddAttrs(slog.String("lib", "protoactor"))
	r.Attrs(func(a slog.Attr) bool {
		if pid, ok := a.Value.Any().(*actor.PID); ok {
			a = slog.String(a.Key, pid.GetId())
		} else if a.Key == "message" {
			a = slog.String(a.Key, fmt.Sprintf("%T", a.Value.Any()))
		}
		line.AddAttrs(a)
		return true
	})
	return q.to.Handle(ctx, line)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.to.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.to.WithGroup(name)} }

func demoted(level slog.Level) slog.Level {
	if level < slog.LevelWarn {
		return min(level, slog.LevelDebug)
	}
	return level
}
