package mcp

import (
	"bytes"
	"context"
	"encoding/json"

	"shoal.dev/shoal/messages"
)

// view is a subscribable resource that is no channel itself: any event of some
// channels may mean that it has changed. Notices about it have no number and
// are coalesced.
type view struct {
	list     bool // the list of resources itself
	channels []string
	watched  Watched // "": nothing beside the channels
	// probe reads the view where events alone do not tell whether it changed.
	probe *source
}

// listView is the list of resources.
var listView = &view{list: true, watched: WatchedThings}

// viewOf is the view that a resource is, nil if it is none.
func viewOf(t target) *view {
	switch {
	case t.kind == "jobs":
		return &view{watched: WatchedJobs}
	case t.kind == "session" && t.id == "cwd":
		return &view{channels: []string{"session", "journal"}, probe: &source{"session.cwd", nil}}
	case t.kind == "plan":
		// Approvals are told of; that a plan was applied shows in the journal.
		probe := source{"plan.get", messages.JSON(map[string]string{"plan_ref": t.ref()})}
		return &view{channels: []string{"approval", "journal"}, probe: &probe}
	}
	return nil
}

// followView follows the channels of a view, as far as the caller may; one at
// least.
func (p *peer) followView(ctx context.Context, name followed, v *view, begin <-chan struct{}) (*subscription, *messages.Error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sub := &subscription{followed: name, cancel: cancel}
	var refused *messages.Error
	keep := func(cursor Cursor, refusal *messages.Error) {
		if refusal != nil {
			refused = refusal
			return
		}
		sub.cursors = append(sub.cursors, cursor)
	}
	for _, channel := range v.channels {
		keep(p.backend.Subscribe(channel, nil))
	}
	if v.watched != "" {
		keep(p.backend.Watch(v.watched))
	}
	if len(sub.cursors) == 0 {
		cancel()
		return nil, refused
	}
	var seen json.RawMessage // read after the cursors stand, so that no change falls between
	if v.probe != nil {
		var refusal *messages.Error
		if seen, refusal = p.ask(ctx, v.probe.method, v.probe.params); refusal != nil {
			sub.stop()
			return nil, refusal
		}
	}
	changed := make(chan struct{}, 1)
	sub.list = v.list
	if refusal := p.subs.add(sub); refusal != nil {
		sub.stop()
		return nil, refusal
	}
	for _, cursor := range sub.cursors {
		sub.wait.Go(func() { p.watch(life, cursor, name, changed) })
	}
	sub.wait.Go(func() {
		if reached(life, begin) {
			p.tell(life, name, v, seen, changed)
		}
	})
	return sub, nil
}

// watch notes that a view may have changed.
func (p *peer) watch(ctx context.Context, c Cursor, name followed, changed chan<- struct{}) {
	p.follow(ctx, c, name, func(messages.Event, *messages.Dropped) error {
		signal(changed)
		return nil
	})
}

func signal(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// tell sends a notice when the view has changed, and then none for a while; the
// last change is never missed.
func (p *peer) tell(ctx context.Context, name followed, v *view, seen json.RawMessage, changed <-chan struct{}) {
	frame := v.notice(name)
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if v.probe != nil {
			now, refusal := p.ask(ctx, v.probe.method, v.probe.params)
			if refusal == nil && bytes.Equal(now, seen) {
				continue
			}
			seen = now
		}
		if ctx.Err() != nil || p.sendFor(name.id(), bytes.Clone(frame)) != nil {
			return
		}
		if !sleep(ctx, viewPause) {
			return
		}
	}
}

// notice tells that the view has changed.
func (v *view) notice(name followed) []byte {
	params := []byte{'{'}
	if !v.list {
		params = messages.AppendString(append(params, `"uri":`...), name.uri)
	}
	if name.stream != "" {
		if !v.list {
			params = append(params, ',')
		}
		params = append(appendStream(append(params, `"_meta":{`...), name.id()), '}')
	}
	method := "notifications/resources/updated"
	if v.list {
		method = "notifications/resources/list_changed"
	}
	return notificationFrame(method, append(params, '}'))
}
