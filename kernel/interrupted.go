package kernel

import (
	"fmt"
	"sync"

	"shoal.dev/shoal/messages"
)

// closeEntries marks the journal entries that an earlier kernel began and did
// not end as interrupted, and announces their end.
func (k *Kernel) closeEntries() error {
	open, err := k.store.Running()
	if err != nil {
		return err
	}
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	for i := len(open) - 1; i >= 0; i-- {
		wait.Add(1)
		k.store.Append(interrupted(open[i]), func(a messages.Appended) {
			defer wait.Done()
			mu.Lock()
			defer mu.Unlock()
			if a.Err != nil && first == nil {
				first = fmt.Errorf("mark entry %d as interrupted: %w", open[i].ID, a.Err)
			}
		})
	}
	wait.Wait()
	return first
}

// interrupted is the record that ends an entry whose kernel died.
func interrupted(e messages.Entry) messages.Record {
	no := false
	e.OK, e.Status = &no, messages.EntryInterrupted
	payload := messages.JSON(map[string]any{
		"id": e.ID, "head": e.Head, "ok": no, "principal": e.Principal, "session": e.Session,
	})
	return messages.Record{
		Key: fmt.Sprintf("entry-%d-interrupted", e.ID), Entry: &e,
		Events: []messages.Draft{
			{Key: messages.ChannelKey{Session: e.Session, Name: "journal"}, Payload: payload},
			{Key: messages.ChannelKey{Name: "kernel.journal"}, Payload: payload},
		},
	}
}
