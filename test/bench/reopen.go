package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"shoal.dev/shoal/journal"
	"shoal.dev/shoal/messages"
)

// reopen is how long a kernel takes to serve on a store of many entries.
func (b *bench) reopen() (float64, error) {
	state, err := b.filled()
	if err != nil {
		return 0, err
	}
	took, err := b.startKernel(state)
	if err != nil {
		return 0, err
	}
	return took.Seconds(), b.stopKernel(state)
}

// filled is a state directory with a large journal, made once.
func (b *bench) filled() (string, error) {
	state := filepath.Join(b.root, "filled")
	for _, known := range b.states {
		if known == state {
			return state, nil
		}
	}
	b.states = append(b.states, state)
	st, err := journal.Open(journal.Options{Dir: filepath.Join(state, "journal"), BlobDir: filepath.Join(state, "blobs")})
	if err != nil {
		return "", err
	}
	fill(st)
	return state, errors.Join(st.Err(), st.Close())
}

// fill appends what as many executions would.
func fill(st *journal.Store) {
	var pending sync.WaitGroup
	yes := true
	for i := range entries {
		id := messages.EntryID(i + 1)
		payload := messages.JSON(map[string]any{"id": id, "head": "", "ok": true, "principal": "uid:0", "session": "default"})
		pending.Add(1)
		st.Append(messages.Record{
			Key: fmt.Sprintf("task-%d-end", id),
			Entry: &messages.Entry{
				ID: id, TS: time.Now().UnixNano(), Session: "default", Principal: "uid:0", Kind: messages.EntryExec,
				Src: "1 + 1", OK: &yes, Status: messages.EntryDone, Cwd: "/tmp", Ref: messages.OutRef(uint64(id)),
			},
			Rows: []messages.Row{
				{Table: "out", Key: fmt.Sprintf("default\x00%016x", id), Value: []byte("0123456789")},
				{Table: "next", Key: "default", Value: fmt.Appendf(nil, "%d", id+1)},
			},
			Events: []messages.Draft{
				{Key: messages.ChannelKey{Session: "default", Name: "journal"}, Payload: payload},
				{Key: messages.ChannelKey{Name: "kernel.journal"}, Payload: payload},
				{Key: messages.ChannelKey{Session: "default", Name: "session.transcript"}, Payload: payload},
			},
		}, func(messages.Appended) { pending.Done() })
		if i%4096 == 4095 {
			pending.Wait() // a queue without end would only cost memory
		}
	}
	pending.Wait()
}
