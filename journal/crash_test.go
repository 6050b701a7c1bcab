package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

var victimKey = messages.ChannelKey{Session: "s", Name: "journal"}

// victim appends until it is killed and prints what was acknowledged: entry
// number and event number.
func victim(dir string) {
	s, err := Open(options(dir))
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				n, err := s.Numbers("entry").Next()
				if err != nil {
					fmt.Println("error", err)
					return
				}
				id := messages.EntryID(n)
				done := make(chan messages.Appended, 1)
				s.Append(messages.Record{
					Key: fmt.Sprint("entry:", n), Sync: i%5 == 0,
					Entry:  &messages.Entry{ID: id, Session: "s", Status: messages.EntryDone, Src: fmt.Sprint("worker ", w)},
					Rows:   []messages.Row{{Table: "out", Key: fmt.Sprint(n), Value: []byte(fmt.Sprint(n))}},
					Events: []messages.Draft{{Key: victimKey, Payload: fmt.Appendf(nil, `{"id":%d}`, n)}},
				}, func(a messages.Appended) { done <- a })
				a := <-done
				mu.Lock()
				fmt.Println("ack", n, a.Seqs[0])
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// runVictim starts a victim, kills it after some acknowledgements and returns
// them: event number by entry number.
func runVictim(t *testing.T, dir string, acks int) map[uint64]uint64 {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SHOAL_JOURNAL_VICTIM="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]uint64{}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) != 3 || f[0] != "ack" {
			t.Errorf("victim said %q", lines.Text())
			continue
		}
		n, err1 := strconv.ParseUint(f[1], 10, 64)
		seq, err2 := strconv.ParseUint(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			continue // the line was cut by the kill
		}
		if _, twice := got[n]; twice {
			t.Errorf("entry number %d twice", n)
		}
		got[n] = seq
		if len(got) == acks {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return got
}

func TestKillLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes for seconds; -short leaves it out")
	}
	dir := t.TempDir()
	acked := map[uint64]uint64{}
	bySeq := map[uint64]uint64{}
	for round := range 8 {
		for n, seq := range runVictim(t, dir, 1+rand.IntN(1200)) {
			if _, twice := acked[n]; twice {
				t.Fatalf("round %d: entry number %d was handed out before", round, n)
			}
			if other, twice := bySeq[seq]; twice {
				t.Fatalf("round %d: event %d of entry %d was entry %d's", round, seq, n, other)
			}
			acked[n], bySeq[seq] = seq, n
		}
		s, err := Open(options(dir))
		if err != nil {
			t.Fatal(err)
		}
		checkAcked(t, s, acked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d acknowledged", len(acked))
}

func checkAcked(t *testing.T, s *Store, acked map[uint64]uint64) {
	t.Helper()
	events := map[uint64]string{}
	var since *uint64
	for {
		page, err := s.Events(victimKey, since, EventLimitMax, false)
		if err != nil || page.Gap != nil {
			t.Fatalf("events: %+v %v", page.Gap, err)
		}
		for _, e := range page.Events {
			if int(e.Seq) != len(events) {
				t.Fatalf("event %d stands at place %d", e.Seq, len(events))
			}
			events[e.Seq] = string(e.Payload)
		}
		if page.Next == nil {
			break
		}
		since = page.Next
	}
	for n, seq := range acked {
		if v, ok, err := s.Get("out", fmt.Sprint(n)); !ok || string(v) != fmt.Sprint(n) {
			t.Fatalf("row of acknowledged entry %d is %q %v %v", n, v, ok, err)
		}
		if _, ok, err := s.Entry(messages.EntryID(n)); !ok || err != nil {
			t.Fatalf("acknowledged entry %d is gone: %v", n, err)
		}
		if want := fmt.Sprintf(`{"id":%d}`, n); events[seq] != want {
			t.Fatalf("event %d is %s, want %s", seq, events[seq], want)
		}
	}
	if d := s.Stats().Damaged; len(d) > 0 {
		t.Fatalf("damage reported: %v", d)
	}
}

// unfoldedStore makes files whose tail holds n records, and returns where each
// of them begins.
func unfoldedStore(t *testing.T, n int) (opt Options, starts []int64) {
	t.Helper()
	opt = options(t.TempDir())
	s := open(t, opt)
	defer hold(s)()
	for i := range n {
		starts = append(starts, s.Stats().TailBytes)
		mustAppend(t, s, messages.Record{Key: fmt.Sprint(i), Rows: []messages.Row{{Table: "t", Key: fmt.Sprint(i), Value: []byte("v")}},
			Events: []messages.Draft{draft("s", "journal", fmt.Sprint(i))}})
		if i == n/2 {
			notify(s.dirty) // freezes what there is and then waits: both files are in use
			waitFor(t, "a layer is frozen", func() bool {
				s.mu.RLock()
				defer s.mu.RUnlock()
				return s.frozen != nil
			})
		}
	}
	to := options(t.TempDir())
	if err := os.CopyFS(to.Dir, os.DirFS(opt.Dir)); err != nil {
		t.Fatal(err)
	}
	return to, starts
}

func tailSizes(t *testing.T, opt Options) (paths [2]string, sizes [2]int64) {
	t.Helper()
	paths = tailPaths(opt.Dir)
	for i, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		sizes[i] = info.Size()
	}
	return paths, sizes
}

// newest returns the tail file that holds the highest number.
func newest(t *testing.T, opt Options) (string, *tailScan) {
	t.Helper()
	a, err := scanTail(tailPaths(opt.Dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := scanTail(tailPaths(opt.Dir)[1])
	if err != nil {
		t.Fatal(err)
	}
	if a.first() > b.first() {
		return a.path, a
	}
	return b.path, b
}

func TestTornEnd(t *testing.T) {
	opt, _ := unfoldedStore(t, 8)
	path, scan := newest(t, opt)
	last, end := scan.ends[len(scan.ends)-2], scan.end()
	for cut := last; cut < end; cut++ {
		garbages := []string{""}
		if cut%16 == 0 {
			garbages = append(garbages, "garbage", strings.Repeat("\x00", 40), string(zeros[:tailRoom-cut]), string(scan.data[cut+1:]))
		}
		for _, garbage := range garbages {
			to := options(t.TempDir())
			if err := os.CopyFS(to.Dir, os.DirFS(opt.Dir)); err != nil {
				t.Fatal(err)
			}
			torn := append(append([]byte{}, scan.data[:cut]...), garbage...)
			if err := os.WriteFile(filepath.Join(to.Dir, filepath.Base(path)), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			if bytes.HasPrefix(torn, scan.data[:end]) {
				continue // the record is whole again
			}
			s := open(t, to)
			if d := s.Stats().Damaged; len(d) > 0 {
				t.Fatalf("cut at %d: %v", cut, d)
			}
			if got, _ := s.Latest(messages.ChannelKey{Session: "s", Name: "journal"}); got != 6 {
				t.Fatalf("cut at %d: latest event %d, want 6", cut, got)
			}
			if seqs := mustAppend(t, s, messages.Record{Events: []messages.Draft{draft("s", "journal", `"new"`)}}); seqs[0] != 7 {
				t.Fatalf("cut at %d: next event %d, want 7", cut, seqs[0])
			}
			crash(t, s)
		}
	}
}

func TestDamageInTheMiddle(t *testing.T) {
	opt, _ := unfoldedStore(t, 12)
	paths, sizes := tailSizes(t, opt)
	if sizes[0] == 0 || sizes[1] == 0 {
		t.Fatalf("sizes %v, want both files in use", sizes)
	}
	for _, path := range paths {
		scan, err := scanTail(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, scan.ends[0] + 4, scan.ends[1] + frameHeader + 3} {
			to := options(t.TempDir())
			if err := os.CopyFS(to.Dir, os.DirFS(opt.Dir)); err != nil {
				t.Fatal(err)
			}
			bad := append([]byte{}, scan.data...)
			bad[at] ^= 0x40
			hit := filepath.Join(to.Dir, filepath.Base(path))
			if err := os.WriteFile(hit, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, to)
			before := scan.records[0].lsn - 1
			for i, end := range scan.ends {
				if at >= end {
					before = scan.records[i].lsn
				}
			}
			d := s.Stats().Damaged
			if len(d) != 1 || !strings.Contains(d[0], filepath.Base(path)) {
				t.Fatalf("damage at %d of %s reported as %q", at, path, d)
			}
			kept, _ := filepath.Glob(hit + ".damaged-*")
			if len(kept) != 1 {
				t.Fatalf("damaged file kept as %v", kept)
			}
			if got, _ := os.ReadFile(kept[0]); !cmp.Equal(got, bad) {
				t.Error("the kept file is not the damaged one")
			}
			var rows uint64
			_ = s.Scan("t", "", func(string, []byte) bool { rows++; return true })
			if rows != before {
				t.Errorf("damage at %d of %s: %d rows, want the %d before it", at, path, rows, before)
			}
			if seqs := mustAppend(t, s, messages.Record{Events: []messages.Draft{draft("s", "journal", `1`)}}); seqs[0] != 12 {
				t.Errorf("damage at %d: next event %d, want 12: a number was used twice", at, seqs[0])
			}
			_ = s.Close()
			s = open(t, to)
			if d := s.Stats().Damaged; len(d) > 0 {
				t.Errorf("damage reported again: %v", d)
			}
			_ = s.Close()
		}
	}
}

// failing is a tail file that fails from some write or sync on.
type failing struct {
	file
	plan *faults
}

type faults struct {
	mu            sync.Mutex
	writes, syncs int // how many still succeed; negative: all
	short         bool
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	f.plan.mu.Lock()
	defer f.plan.mu.Unlock()
	if f.plan.writes == 0 {
		if f.plan.short {
			n, _ := f.file.WriteAt(p[:len(p)/2], off)
			return n, errFull
		}
		return 0, errFull
	}
	f.plan.writes--
	return f.file.WriteAt(p, off)
}

func (f *failing) Datasync() error {
	f.plan.mu.Lock()
	defer f.plan.mu.Unlock()
	if f.plan.syncs == 0 {
		return errFull
	}
	f.plan.syncs--
	return f.file.Datasync()
}

var errFull = errors.New("no space left on device")

func TestFailedWriteStopsTheJournal(t *testing.T) {
	cases := map[string]struct {
		plan *faults
		rec  messages.Record
	}{
		"write":       {plan: &faults{writes: 3, syncs: -1}},
		"short write": {plan: &faults{writes: 3, syncs: -1, short: true}},
		"sync":        {plan: &faults{writes: -1, syncs: 3}, rec: messages.Record{Sync: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			opt := options(t.TempDir())
			opt.openTail = func(path string) (file, error) {
				f, err := openDiskFile(path)
				return &failing{f, c.plan}, err
			}
			s := open(t, opt)
			rec := func(i int) messages.Record {
				r := c.rec
				r.Rows = []messages.Row{{Table: "t", Key: fmt.Sprint(i), Value: []byte("v")}}
				r.Events = []messages.Draft{draft("s", "journal", fmt.Sprint(i))}
				return r
			}
			good := 0
			for i := range 10 {
				a := appendOne(t, s, rec(i))
				switch {
				case a.Err == nil && good == i:
					good++
				case a.Err == nil:
					t.Errorf("append %d accepted after a failure", i)
				case a.Err.Code != messages.CodeInternal || !strings.Contains(a.Err.Message, "no space left") || !strings.Contains(a.Err.Message, "restart"):
					t.Errorf("append %d: %v", i, a.Err)
				}
			}
			if good == 0 || good == 10 || s.Err() == nil {
				t.Fatalf("%d appends accepted, Err %v", good, s.Err())
			}
			if _, err := s.Numbers("task").Next(); err == nil {
				t.Error("a number was handed out by a stopped journal")
			}
			check := func(s *Store) {
				t.Helper()
				n := 0
				if err := s.Scan("t", "", func(string, []byte) bool { n++; return true }); err != nil || n != good {
					t.Errorf("%d rows readable (%v), want %d", n, err, good)
				}
			}
			check(s)
			_ = s.Close()
			opt.openTail = nil
			s = open(t, opt)
			check(s)
			if seqs := mustAppend(t, s, rec(99)); seqs[0] != uint64(good) {
				t.Errorf("next event %d, want %d", seqs[0], good)
			}
		})
	}
}

func TestFailedFoldKeepsEverything(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	mustAppend(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: "k", Value: []byte("v")}}})
	settleFolds(t, s)
	release := hold(s)
	mustAppend(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: "l", Value: []byte("v")}}})
	s.mu.Lock()
	s.active.entries[7] = []byte("not an entry") // makes the commit fail
	s.mu.Unlock()
	release()
	notify(s.dirty)
	waitFor(t, "the journal has stopped", func() bool { return s.Err() != nil })
	for _, k := range []string{"k", "l"} {
		if _, ok, err := s.Get("t", k); !ok || err != nil {
			t.Errorf("row %s is gone: %v", k, err)
		}
	}
	if a := appendOne(t, s, messages.Record{}); a.Err == nil {
		t.Error("append accepted after a failed fold")
	}
	_ = s.Close()
	s = open(t, opt)
	if _, ok, err := s.Get("t", "l"); !ok || err != nil {
		t.Errorf("row l is gone after restart: %v", err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	defer unmountSmall(dir)
	s := open(t, options(dir))
	acked := 0
	for i := range 5000 {
		a := appendOne(t, s, messages.Record{Rows: []messages.Row{{Table: "t", Key: fmt.Sprint(i), Value: make([]byte, 4096)}}})
		if a.Err != nil {
			break
		}
		acked++
	}
	if s.Err() == nil {
		t.Fatal("the disk never became full")
	}
	n := 0
	if err := s.Scan("t", "", func(string, []byte) bool { n++; return true }); err != nil || n != acked {
		t.Errorf("%d rows readable, %d acknowledged (%v)", n, acked, err)
	}
	t.Logf("%d acknowledged before: %v", acked, s.Err())
	_ = s.Close()
}
