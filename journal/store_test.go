package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

func TestRowsSurviveEveryWayOfEnding(t *testing.T) {
	for _, end := range []string{"none", "fold", "close", "crash"} {
		t.Run(end, func(t *testing.T) {
			opt := options(t.TempDir())
			s := open(t, opt)
			if end == "crash" {
				release := hold(s)
				defer release()
			}
			mustAppend(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: "a", Value: []byte("1")}, {Table: "t", Key: "gone", Value: []byte("x")}}})
			mustAppend(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: "gone"}, {Table: "t", Key: "empty", Value: []byte{}}, {Table: "u", Key: "a", Value: []byte("other")}}})
			switch end {
			case "fold":
				settleFolds(t, s)
			case "close":
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, opt)
			case "crash":
				s = reopenCopy(t, opt)
			}
			got := map[string]string{}
			if err := s.Scan("t", "", func(k string, v []byte) bool { got[k] = string(v); return true }); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"a": "1", "empty": ""}, got); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if _, ok, _ := s.Get("t", "gone"); ok {
				t.Error("deleted row is still there")
			}
			if v, ok, _ := s.Get("t", "empty"); !ok || len(v) != 0 {
				t.Errorf("empty row = %q %v, want there and empty", v, ok)
			}
		})
	}
}

// reopenCopy opens a copy of the files as they are now, which is what a process
// that was killed leaves.
func reopenCopy(t testing.TB, opt Options) *Store {
	t.Helper()
	dir := t.TempDir()
	to := options(dir)
	if err := os.CopyFS(to.Dir, os.DirFS(opt.Dir)); err != nil {
		t.Fatal(err)
	}
	return open(t, to)
}

func TestScanMergesInOrder(t *testing.T) {
	s := open(t, options(t.TempDir()))
	want := map[string]string{}
	put := func(from, to, step int, v string) {
		var rows []messages.Row
		for i := from; i < to; i += step {
			k := fmt.Sprintf("k%04d", i)
			row := messages.Row{Table: "t", Key: k}
			if v == "" {
				delete(want, k)
			} else {
				row.Value = []byte(v)
				want[k] = v
			}
			rows = append(rows, row)
		}
		mustAppend(t, s, messages.Record{Rows: rows})
	}
	put(0, 1500, 3, "old")
	put(0, 1500, 5, "older")
	settleFolds(t, s)
	release := hold(s)
	defer release()
	put(1, 1500, 7, "new")
	put(0, 1500, 9, "")
	var keys []string
	got := map[string]string{}
	if err := s.Scan("t", "k", func(k string, v []byte) bool {
		keys = append(keys, k)
		got[k] = string(v)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1] >= keys[i] {
			t.Fatalf("key %q after %q", keys[i], keys[i-1])
		}
	}
	n := 0
	_ = s.Scan("t", "k00", func(string, []byte) bool { n++; return n < 5 })
	if n != 5 {
		t.Errorf("scan went on after false: %d rows", n)
	}
}

func TestAcknowledgedKeyChangesNothing(t *testing.T) {
	opt := options(t.TempDir())
	var published atomic.Int64
	opt.Publish = func(evs []messages.Published) { published.Add(int64(len(evs))) }
	s := open(t, opt)
	rec := func(v string) messages.Record {
		return messages.Record{Key: "entry:1", Events: []messages.Draft{draft("s", "user.x", v), draft("s", "user.x", v)},
			Rows: []messages.Row{{Table: "t", Key: "k", Value: []byte(v)}}}
	}
	release := hold(s)
	first := mustAppend(t, s, rec(`1`))
	again := mustAppend(t, s, rec(`2`))
	if diff := cmp.Diff([]uint64{0, 1}, first); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("second answer differs: %s", diff)
	}
	c := reopenCopy(t, opt) // the tail remembers
	if diff := cmp.Diff(first, mustAppend(t, c, rec(`3`))); diff != "" {
		t.Errorf("answer after restart differs: %s", diff)
	}
	if v, _, _ := c.Get("t", "k"); string(v) != "1" {
		t.Errorf("row = %s, want 1", v)
	}
	release()
	settleFolds(t, s)
	if diff := cmp.Diff(first, mustAppend(t, s, rec(`4`))); diff != "" {
		t.Errorf("answer after fold differs: %s", diff)
	}
	if n := published.Load(); n != 2 {
		t.Errorf("published %d events, want 2", n)
	}
}

func TestSameKeyInOneGroup(t *testing.T) {
	s := open(t, options(t.TempDir()))
	s.writing.Lock() // the writer waits, so that the rest forms a group
	var wg sync.WaitGroup
	wg.Add(10)
	var sum atomic.Int64
	for range 10 {
		s.Append(messages.Record{Key: "k", Events: []messages.Draft{draft("", "kernel", `1`)}}, func(a messages.Appended) {
			sum.Add(int64(a.Seqs[0]))
			wg.Done()
		})
	}
	s.writing.Unlock()
	wg.Wait()
	if last, _ := s.Latest(messages.ChannelKey{Name: "kernel"}); last != 0 || sum.Load() != 0 {
		t.Errorf("latest %d, sum %d, want one event", last, sum.Load())
	}
}

func TestOldKeysAreForgotten(t *testing.T) {
	s := open(t, options(t.TempDir()))
	n := keyWindow + keyWindow/2
	var wg sync.WaitGroup
	wg.Add(n)
	for i := range n {
		s.Append(messages.Record{Key: fmt.Sprint("k", i)}, func(messages.Appended) { wg.Done() })
	}
	wg.Wait()
	settleFolds(t, s)
	for i := range keyWindow / 2 {
		mustAppend(t, s, messages.Record{Key: fmt.Sprint("l", i)})
		if i%1000 == 0 {
			settleFolds(t, s)
		}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if got, most := len(s.w.keys), keyWindow+keyWindow/4; got > most || got < keyWindow {
		t.Errorf("remembers %d keys, want %d to %d", got, keyWindow, most)
	}
	if len(s.w.keys) != len(s.w.order) {
		t.Errorf("%d keys, %d in order", len(s.w.keys), len(s.w.order))
	}
}

func TestBadRecordsAreRefusedAlone(t *testing.T) {
	s := open(t, options(t.TempDir()))
	bad := map[string]messages.Record{
		"memory channel": {Events: []messages.Draft{draft("s", "pty.1", `{}`)}},
		"no channel":     {Events: []messages.Draft{draft("s", "", `{}`)}},
		"nul in channel": {Events: []messages.Draft{draft("s", "user.a\x00b", `{}`)}},
		"session escape": {Events: []messages.Draft{draft("a\x00b", "user.x", `{}`)}},
		"no json":        {Events: []messages.Draft{draft("s", "user.x", `{`)}},
		"no table":       {Rows: []messages.Row{{Key: "x", Value: []byte("1")}}},
		"nul in table":   {Rows: []messages.Row{{Table: "a\x00", Value: []byte("1")}}},
		"long key":       {Rows: []messages.Row{{Table: "a", Key: strings.Repeat("k", maxRowKey), Value: []byte("1")}}},
		"entry 0":        {Entry: &messages.Entry{}},
	}
	for name, rec := range bad {
		if a := appendOne(t, s, rec); a.Err == nil || a.Err.Code != messages.CodeInvalidParams {
			t.Errorf("%s: answer %+v, want an error", name, a)
		}
	}
	mustAppend(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: "", Value: []byte("1")}}})
}

func TestPanickingCallbacksDoNotStopTheWriter(t *testing.T) {
	opt := options(t.TempDir())
	opt.Publish = func([]messages.Published) { panic("publish") }
	s := open(t, opt)
	s.Append(messages.Record{}, func(messages.Appended) { panic("done") })
	if got := mustAppend(t, s, messages.Record{Events: []messages.Draft{draft("", "kernel", `1`)}}); got[0] != 0 {
		t.Errorf("seqs %v", got)
	}
}

func TestReadsWhileFolding(t *testing.T) {
	s := open(t, options(t.TempDir()))
	key := messages.ChannelKey{Session: "s", Name: "journal"}
	const n = 3000
	var acked atomic.Uint64
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, 2))
			for {
				top := acked.Load()
				if top == n {
					return
				}
				if top == 0 {
					continue
				}
				i := 1 + r.Uint64N(top)
				if _, ok, err := s.Get("t", fmt.Sprint(i)); !ok || err != nil {
					t.Errorf("row %d acknowledged and not there (%v)", i, err)
					return
				}
				if _, ok, err := s.Entry(messages.EntryID(i)); !ok || err != nil {
					t.Errorf("entry %d acknowledged and not there (%v)", i, err)
					return
				}
				since := i - 1
				page, err := s.Events(key, &since, 5, false)
				if err != nil || page.Gap != nil || (len(page.Events) > 0 && page.Events[0].Seq != i) || (i < top && len(page.Events) == 0) {
					t.Errorf("events after %d of %d: %+v %v", since, top, page, err)
					return
				}
			}
		})
	}
	for i := 1; i <= n; i++ {
		mustAppend(t, s, messages.Record{Key: fmt.Sprint(i), Entry: &messages.Entry{ID: messages.EntryID(i), Status: messages.EntryDone},
			Rows: []messages.Row{{Table: "t", Key: fmt.Sprint(i), Value: []byte("v")}}, Events: []messages.Draft{draft("s", "journal", `{}`)}})
		if i == 1 {
			mustAppend(t, s, messages.Record{Events: []messages.Draft{draft("s", "journal", `{}`)}}) // seq 1 = entry 1
		}
		acked.Store(uint64(i))
		if i%97 == 0 {
			if err := s.fold(); err != nil && !errors.Is(err, bolt.ErrTxClosed) {
				t.Error(err)
			}
		}
	}
	wg.Wait()
}

func TestSchema(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	mustAppend(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: "k", Value: []byte("v")}}})
	if _, err := Open(opt); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v, want ErrLocked", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(opt.Dir, storeName)
	setSchema(t, path, Schema+1)
	before, _ := os.ReadFile(path)
	var newer *SchemaError
	if _, err := Open(opt); !errors.As(err, &newer) || newer.Found != Schema+1 {
		t.Fatalf("open a newer store: %v", err)
	}
	if after, _ := os.ReadFile(path); string(before) != string(after) {
		t.Error("refusing the store changed it")
	}
	setSchema(t, path, Schema)
	s = open(t, opt)
	if v, ok, _ := s.Get("t", "k"); !ok || string(v) != "v" {
		t.Errorf("row = %q %v", v, ok)
	}
	_ = s.Close()
	if err := os.Truncate(path, 3*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(opt); err == nil {
		s.Close()
		t.Error("a truncated store was opened")
	} else {
		t.Log(err)
	}
}

func setSchema(t *testing.T, path string, n uint64) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keySchema, be64(n)) }); err != nil {
		t.Fatal(err)
	}
}

func TestCloseRefusesAndCounts(t *testing.T) {
	opt := options(t.TempDir())
	opt.Log = slog.New(slog.DiscardHandler)
	s := open(t, opt)
	c := s.Numbers("task")
	for want := uint64(1); want <= 300; want++ {
		if n, err := c.Next(); n != want || err != nil {
			t.Fatalf("Next = %d %v, want %d", n, err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if a := appendOne(t, s, messages.Record{}); a.Err == nil {
		t.Error("append after close was accepted")
	}
	if _, err := c.Next(); err == nil {
		t.Error("number handed out after close")
	}
	s = open(t, opt)
	release := hold(s) // a fold in the middle of the copy would be no crash
	defer release()
	if n, err := s.Numbers("task").Next(); n != 301 || err != nil {
		t.Errorf("Next after an orderly restart = %d %v, want 301", n, err)
	}
	if st := s.Stats(); st.StoreBytes == 0 || st.Stopped != "" || st.LastRecord == 0 {
		t.Errorf("stats %+v", st)
	}
	c = reopenCopy(t, opt).Numbers("task")
	if n, err := c.Next(); n <= 301 || err != nil {
		t.Errorf("Next after a crash = %d %v, want more than 301", n, err)
	}
}

func TestNumbersConcurrent(t *testing.T) {
	s := open(t, options(t.TempDir()))
	seen := make([]atomic.Bool, 20001)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2500 {
				n, err := s.Numbers("entry").Next()
				if err != nil || n == 0 || n >= uint64(len(seen)) || seen[n].Swap(true) {
					t.Errorf("number %d twice, out of range or %v", n, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestWriteOnTheCallersGoroutine queues from many goroutines, half of them
// leaving the writing to the store's own, and ends with every record answered
// once, in the order of its channel, none of them waiting.
func TestWriteOnTheCallersGoroutine(t *testing.T) {
	s := open(t, options(t.TempDir()))
	var answered atomic.Int64
	var wg sync.WaitGroup
	const callers, each = 8, 200
	for c := range callers {
		wg.Go(func() {
			key := fmt.Sprint("c", c)
			var done sync.WaitGroup
			done.Add(each)
			for i := range each {
				add := s.Queue
				if c%2 == 0 {
					add = s.Append
				}
				add(messages.Record{Events: []messages.Draft{draft("s", key, "{}")}}, func(a messages.Appended) {
					if a.Err != nil || len(a.Seqs) != 1 || a.Seqs[0] != uint64(i) {
						t.Errorf("%s: record %d got %v %v", key, i, a.Seqs, a.Err)
					}
					s.Write() // may be called from here, too
					answered.Add(1)
					done.Done()
				})
				s.Write()
			}
			done.Wait()
		})
	}
	wg.Wait()
	if got := answered.Load(); got != callers*each {
		t.Errorf("%d answers, want %d", got, callers*each)
	}
}

// TestQueuedRecordWaitsForWrite has a record stay behind until somebody writes:
// with a store at rest that is the caller himself.
func TestQueuedRecordWaitsForWrite(t *testing.T) {
	s := open(t, options(t.TempDir()))
	answered := false // no lock: done runs on this goroutine
	s.Queue(messages.Record{Rows: []messages.Row{{Table: "t", Key: "a", Value: []byte("1")}}}, func(messages.Appended) { answered = true })
	if answered || s.Stats().Queued != 1 {
		t.Errorf("answered %t, %d queued before Write", answered, s.Stats().Queued)
	}
	s.Write()
	if _, found, _ := s.Get("t", "a"); !answered || !found {
		t.Errorf("answered %t, found %t after Write", answered, found)
	}
}

// TestCloseWritesWhatIsQueued does it for records whose callers have not yet
// come to Write, and refuses later ones.
func TestCloseWritesWhatIsQueued(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	s.Queue(messages.Record{Rows: []messages.Row{{Table: "t", Key: "a", Value: []byte("1")}}}, nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var late messages.Appended
	s.Queue(messages.Record{Rows: []messages.Row{{Table: "t", Key: "b", Value: []byte("1")}}}, func(a messages.Appended) { late = a })
	s.Write()
	if late.Err == nil {
		t.Error("a record after Close was taken")
	}
	if _, found, _ := open(t, opt).Get("t", "a"); !found {
		t.Error("the queued record is lost")
	}
}
