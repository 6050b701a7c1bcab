package journal

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SHOAL_JOURNAL_VICTIM"); dir != "" {
		victim(dir)
		return
	}
	os.Exit(m.Run())
}

func options(dir string) Options {
	return Options{Dir: filepath.Join(dir, "journal"), BlobDir: filepath.Join(dir, "blobs")}
}

func open(t testing.TB, opt Options) *Store {
	t.Helper()
	s, err := Open(opt)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// crash ends a store the way kill -9 does, as far as its files go: nothing more
// is written, folded or truncated.
func crash(t testing.TB, s *Store) {
	t.Helper()
	s.once.Do(func() {
		s.mu.Lock()
		s.failed = os.ErrClosed
		s.mu.Unlock()
		s.queue.close()
		close(s.quit)
		s.wg.Wait()
		_ = s.tail.close()
		_ = s.db.Close()
	})
}

// hold keeps the store from folding until the returned function is called.
func hold(s *Store) (release func()) {
	tx, err := s.db.Begin(true)
	if err != nil {
		panic(err)
	}
	return func() { _ = tx.Rollback() }
}

func appendOne(t testing.TB, s *Store, rec messages.Record) messages.Appended {
	t.Helper()
	ch := make(chan messages.Appended, 1)
	s.Append(rec, func(a messages.Appended) { ch <- a })
	select {
	case a := <-ch:
		return a
	case <-time.After(20 * time.Second):
		t.Fatal("append was not answered")
		return messages.Appended{}
	}
}

func mustAppend(t testing.TB, s *Store, rec messages.Record) []uint64 {
	t.Helper()
	a := appendOne(t, s, rec)
	if a.Err != nil {
		t.Fatalf("append %q: %v", rec.Key, a.Err)
	}
	return a.Seqs
}

// settleFolds folds everything.
func settleFolds(t testing.TB, s *Store) {
	t.Helper()
	waitFor(t, "everything is folded", func() bool {
		if err := s.fold(); err != nil {
			t.Fatalf("fold: %v", err)
		}
		return s.Stats().Unfolded == 0
	})
}

// waitFor looks until cond holds.
func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func draft(session, name, payload string) messages.Draft {
	return messages.Draft{Key: messages.ChannelKey{Session: messages.SessionName(session), Name: name}, Payload: []byte(payload)}
}
