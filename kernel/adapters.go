package kernel

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"shoal.dev/shoal/actors"
	"shoal.dev/shoal/bus"
	"shoal.dev/shoal/gateway"
	"shoal.dev/shoal/host"
	"shoal.dev/shoal/journal"
	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// contents is the journal as the actors see it.
type contents struct {
	*journal.Store
	secrets *host.Secrets
}

// Append writes a record in which known secrets are masked.
func (c contents) Append(rec messages.Record, done func(messages.Appended)) {
	c.Store.Append(c.masked(rec), done)
}

// Queue is Append that leaves the writing to Write.
func (c contents) Queue(rec messages.Record, done func(messages.Appended)) {
	c.Store.Queue(c.masked(rec), done)
}

func (c contents) masked(rec messages.Record) messages.Record {
	if !c.secrets.Known() {
		return rec
	}
	for _, row := range rec.Rows {
		c.secrets.Mask(row.Value)
	}
	for _, event := range rec.Events {
		c.secrets.Mask(event.Payload)
	}
	if rec.Entry != nil {
		entry := *rec.Entry
		entry.Src = string(c.secrets.Masked([]byte(entry.Src)))
		entry.Statements = slices.Clone(entry.Statements)
		for i := range entry.Statements {
			s := &entry.Statements[i]
			s.Src = string(c.secrets.Masked([]byte(s.Src)))
		}
		rec.Entry = &entry
	}
	return rec
}

// PutBlob keeps content, known secrets in it masked.
func (c contents) PutBlob(r io.Reader) (messages.Blob, error) {
	return c.Store.PutBlob(c.secrets.MaskReader(r))
}

type content struct {
	*journal.BlobReader
	n int64
}

func (c content) Len() int64 { return c.n }

// OpenBlob opens content of the content store.
func (c contents) OpenBlob(hash string) (actors.Content, error) {
	r, n, err := c.Store.OpenBlob(hash)
	if err != nil {
		return nil, err
	}
	return content{r, n}, nil
}

// reads is the journal as connections see it.
type reads struct{ *journal.Store }

// OpenBlob opens content of the content store.
func (r reads) OpenBlob(hash string) (io.ReaderAt, int64, error) {
	b, n, err := r.Store.OpenBlob(hash)
	if err != nil {
		return nil, 0, err
	}
	return b, n, nil
}

// channels are the live events, with the journal behind the rings.
type channels struct {
	store *journal.Store
	bus   *bus.Bus
}

// Subscribe follows a channel.
func (c channels) Subscribe(key messages.ChannelKey, since *uint64) gateway.Cursor {
	return cursor{c.bus.Subscribe(key, since, func(since *uint64, limit int) (messages.EventPage, error) {
		return c.store.Events(key, since, limit, false)
	})}
}

// Read reads a channel that lives in memory only.
func (c channels) Read(key messages.ChannelKey, since *uint64, limit int, tail bool) (messages.EventPage, error) {
	return c.bus.Read(key, since, limit, tail)
}

type cursor struct{ *bus.Cursor }

// Next is the next event, or what was lost before it.
func (c cursor) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	item, err := c.Cursor.Next(ctx)
	return item.Event, item.Dropped, err
}

// newHost makes the language's host for one run.
func (k *Kernel) newHost(s actors.HostSpec) *interp.Host {
	h := &interp.Host{
		Files: host.Record(k.deps.Files, s.Steps),
		Programs: host.Programs{
			Runner: k.runner, Task: s.Task, Output: s.Output,
			Ended: func(res *proc.Result) {
				s.Ended(actors.Ended{Status: res.Status, Signal: res.Signal, Leftovers: res.Holders})
			},
		},
		Clock:    host.Clock{},
		Channels: languageChannels{k, s.Session, s.Check},
		Watcher:  host.Watcher{},
		Net:      host.Net{},
		Values:   k.deps,
		Secrets:  k.secrets,
		Config:   host.Config{Path: k.o.configPath()},
		Kernel:   languageKernel{k, s.Session},
		Memory:   k.memory,
		Turns:    k.turns,
	}
	return host.Guard(h, s.Check)
}

// languageChannels are a session's channels by their language names.
type languageChannels struct {
	k       *Kernel
	session messages.SessionName
	check   func(effect.Effect) *value.Error // nil allows everything
}

// readKey is key for reading, which the channels that the kernel writes for the
// session allow too.
func (c languageChannels) readKey(name string) (messages.ChannelKey, error) {
	if !builtin.IsSessionChannel(name) {
		return c.key(name)
	}
	if c.check != nil {
		if err := c.check(effect.Effect{Kind: effect.JournalRead}); err != nil {
			return messages.ChannelKey{}, err
		}
	}
	return messages.ChannelKey{Session: c.session, Name: name}, nil
}

// key maps a language name: user.* are the session's, shared.* the kernel's,
// any other free name is the session's own and cannot be reached from the wire.
func (c languageChannels) key(name string) (messages.ChannelKey, error) {
	head, rest, _ := strings.Cut(name, ".")
	switch {
	case head == "user" && rest != "":
		return messages.ChannelKey{Session: c.session, Name: name}, nil
	case head == "shared" && rest != "":
		return messages.ChannelKey{Name: name}, nil
	case head == "task", head == "pty", head == "session", head == "kernel",
		name == "journal", name == "approval", name == "render":
		return messages.ChannelKey{}, value.Errorf(value.CodePermission, "channel %s belongs to the kernel", name).
			WithHint("use a name such as user.%s", name)
	default:
		return messages.ChannelKey{Session: c.session, Name: "local." + name}, nil
	}
}

// Emit appends a payload and returns when it is kept.
func (c languageChannels) Emit(ctx context.Context, name string, payload []byte) error {
	key, err := c.key(name)
	if err != nil {
		return err
	}
	if len(payload) > messages.EventMost {
		return value.Errorf(value.CodeArg, "the event has %d bytes as JSON, at most %d KiB can be emitted", len(payload), messages.EventMost>>10).
			WithHint("save the value and emit its path")
	}
	done := make(chan messages.Appended, 1)
	c.k.deps.Journal.Append(messages.Record{Events: []messages.Draft{{Key: key, Payload: bytes.Clone(payload)}}},
		func(a messages.Appended) { done <- a })
	select {
	case a := <-done:
		if a.Err != nil {
			return a.Err
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Latest is the newest payload, or nil.
func (c languageChannels) Latest(_ context.Context, name string) ([]byte, error) {
	key, err := c.readKey(name)
	if err != nil {
		return nil, err
	}
	page, err := c.k.store.Events(key, nil, 1, true)
	if err != nil || len(page.Events) == 0 {
		return nil, err
	}
	return page.Events[len(page.Events)-1].Payload, nil
}

// Subscribe follows a channel through the bus, with the journal behind it.
func (c languageChannels) Subscribe(_ context.Context, name string, start interp.ChannelStart) (interp.ChannelCursor, error) {
	key, err := c.readKey(name)
	if err != nil {
		return nil, err
	}
	follow := func(since *uint64) *bus.Cursor {
		return c.k.bus.Subscribe(key, since, func(since *uint64, limit int) (messages.EventPage, error) {
			return c.k.store.Events(key, since, limit, false)
		})
	}
	if start.Live || start.Since != nil {
		return &languageCursor{Cursor: follow(start.Since)}, nil
	}
	// A bus cursor begins after a number, so the oldest event is read first. If
	// there is none, the cursor is there before any other can come.
	cur := &languageCursor{Cursor: follow(nil)}
	page, err := c.k.store.Events(key, nil, 1, false)
	if err == nil && len(page.Events) == 0 {
		return cur, nil
	}
	cur.Close()
	if err != nil {
		return nil, err
	}
	first := page.Events[0]
	return &languageCursor{Cursor: follow(&first.Seq), first: &first}, nil
}

// languageCursor is a bus cursor as the language sees it; first is what comes
// before its start.
type languageCursor struct {
	*bus.Cursor
	first *messages.Event
}

// Next waits for the next event, or the notice that some were lost.
func (c *languageCursor) Next(ctx context.Context) (interp.ChannelItem, error) {
	var e messages.Event
	if c.first != nil {
		e, c.first = *c.first, nil
	} else {
		item, err := c.Cursor.Next(ctx)
		switch {
		case errors.Is(err, bus.ErrClosed):
			return interp.ChannelItem{}, value.Errorf(value.CodeChannelClosed, "the subscription is closed")
		case err != nil:
			return interp.ChannelItem{}, err
		case item.Dropped != nil:
			return interp.ChannelItem{Dropped: item.Dropped.Dropped, Latest: item.Dropped.LatestSeq}, nil
		}
		e = item.Event
	}
	return interp.ChannelItem{Seq: e.Seq, At: time.Unix(0, e.TS), Payload: e.Payload}, nil
}

// languageKernel answers the builtins that look at the kernel.
type languageKernel struct {
	k       *Kernel
	session messages.SessionName
}

// Jobs is the session's live tasks as a table.
func (l languageKernel) Jobs(context.Context) (value.Value, error) {
	list := l.k.tasks.List(messages.ListTasks{Session: l.session, Live: true})
	rows := make([]*value.Record, 0, len(list.Tasks))
	for _, t := range list.Tasks {
		n, _ := t.Task.Num()
		rows = append(rows, fields(
			"id", value.Int(int64(n)), "desc", value.Str(t.Src), "state", value.Str(string(t.State)),
			"done", value.Bool(t.State.Ended()), "suspended", value.Bool(t.State == messages.TaskSuspended),
		))
	}
	return value.NewTable(rows), nil
}

// Journal is the session's newest entries as a table.
func (l languageKernel) Journal(_ context.Context, q interp.JournalQuery) (value.Value, error) {
	page, err := l.k.store.Query(messages.JournalQuery{
		Head: q.Head, Principal: messages.Principal(q.Principal), Limit: q.Limit, Session: l.session,
	})
	if err != nil {
		return value.Null, err
	}
	rows := make([]*value.Record, 0, len(page.Entries))
	for _, e := range page.Entries {
		ok := value.Null
		if e.OK != nil {
			ok = value.Bool(*e.OK)
		}
		effects := make([]value.Value, len(e.Effects))
		for i, ef := range e.Effects {
			effects[i] = value.Str(ef.String())
		}
		rows = append(rows, fields(
			"id", value.Int(int64(e.ID)), "ts", value.NewDatetime(time.Unix(0, e.TS)),
			"principal", value.Str(string(e.Principal)), "src", value.Str(e.Src), "ok", ok,
			"status", value.Str(string(e.Status)), "effects", value.NewList(effects),
		))
	}
	return value.NewTable(rows), nil
}

// fields makes a record of alternating names and values.
func fields(pairs ...any) *value.Record {
	var b value.RecordBuilder
	for i := 0; i < len(pairs); i += 2 {
		b.Add(pairs[i].(string), pairs[i+1].(value.Value))
	}
	return b.Done().AsRecord()
}
