package host

import (
	"context"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
)

// guardedWatcher judges the following of a file as reading it.
type guardedWatcher struct {
	in    interp.Watcher
	files guardedFiles
}

func (g guardedWatcher) Watch(ctx context.Context, path string, recursive bool) (interp.Watch, error) {
	if err := g.files.allow(ctx, effect.FSRead, path); err != nil {
		return nil, err
	}
	return g.in.Watch(ctx, path, recursive)
}

func (g guardedWatcher) Tail(ctx context.Context, path string, fromStart bool) (interp.Tail, error) {
	if err := g.files.allow(ctx, effect.FSRead, path); err != nil {
		return nil, err
	}
	return g.in.Tail(ctx, path, fromStart)
}
