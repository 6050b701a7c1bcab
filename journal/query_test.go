package journal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
)

// sample makes n entries whose times jump backwards now and then.
func sample(n int) []messages.Entry {
	r := rand.New(rand.NewPCG(7, 7))
	sessions := []messages.SessionName{"default", "build", "a.b"}
	heads := []string{"git", "ls", "cargo", "rm"}
	kinds := effect.Kinds()
	ts := int64(1_000_000)
	var out []messages.Entry
	for i := 1; i <= n; i++ {
		ts += 10
		if i%400 == 0 {
			ts -= 3000 // the clock was set back
		}
		e := messages.Entry{ID: messages.EntryID(i), TS: ts, Session: sessions[r.IntN(3)],
			Principal: messages.Principal(fmt.Sprint("uid:", r.IntN(3))), Kind: messages.EntryExec,
			Src: fmt.Sprintf("cmd %d é\x00 %x", i, r.Uint32()), Head: heads[r.IntN(4)], Status: messages.EntryDone,
			RequestID: fmt.Sprint("req-", i)}
		switch r.IntN(3) {
		case 0:
			e.OK = ptr(true)
		case 1:
			e.OK, e.Status = ptr(false), messages.EntryFailed
		}
		for range r.IntN(3) {
			e.Effects = append(e.Effects, effect.Effect{Kind: kinds[r.IntN(len(kinds))], Path: "/x"})
		}
		if r.IntN(4) == 0 {
			e.Statements = []messages.Statement{{Head: "inner", Effects: []effect.Effect{{Kind: effect.Opaque}}}, {Head: heads[r.IntN(4)]}}
		}
		out = append(out, e)
	}
	return out
}

// naive is the definition of a query's answer.
func naive(all []messages.Entry, q messages.JournalQuery) []messages.EntryID {
	var ids []messages.EntryID
	for _, e := range slices.Backward(all) {
		has := func(k effect.Kind) bool {
			is := func(x effect.Effect) bool { return x.Kind == k }
			return slices.ContainsFunc(e.Effects, is) ||
				slices.ContainsFunc(e.Statements, func(s messages.Statement) bool { return slices.ContainsFunc(s.Effects, is) })
		}
		keep := (q.Since == nil || e.TS >= *q.Since) && (q.Until == nil || e.TS < *q.Until) &&
			(q.Session == "" || e.Session == q.Session) && (q.Principal == "" || e.Principal == q.Principal) &&
			(q.OK == nil || e.OK != nil && *e.OK == *q.OK) && (q.RequestID == "" || e.RequestID == q.RequestID) &&
			(q.Head == "" || e.Head == q.Head || slices.ContainsFunc(e.Statements, func(s messages.Statement) bool { return s.Head == q.Head })) &&
			strings.Contains(e.Src, q.Text) &&
			(len(q.VisibleTo) == 0 || slices.Contains(q.VisibleTo, e.Session))
		for _, k := range q.Effects {
			keep = keep && has(k)
		}
		if keep {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// walk reads all pages of a query.
func walk(t *testing.T, s *Store, q messages.JournalQuery) []messages.EntryID {
	t.Helper()
	var ids []messages.EntryID
	for range 10_000 {
		page, err := s.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		limit := q.Limit
		if limit == 0 {
			limit = messages.JournalLimit
		}
		if len(page.Entries) > limit || len(page.Entries) < limit && page.Next != "" && page.Scanned == 0 {
			t.Fatalf("page of %d, limit %d, next %q, scanned %d", len(page.Entries), limit, page.Next, page.Scanned)
		}
		for _, e := range page.Entries {
			ids = append(ids, e.ID)
		}
		if page.Next == "" {
			return ids
		}
		q.Cursor = page.Next
	}
	t.Fatal("the query never ends")
	return nil
}

func TestQueryFilters(t *testing.T) {
	all := sample(1700)
	queries := map[string]messages.JournalQuery{
		"all":                 {},
		"big pages":           {Limit: 1000},
		"one a page":          {Limit: 1, Head: "inner", Session: "a.b", OK: ptr(true), Principal: "uid:0"},
		"session":             {Session: "build"},
		"no such session":     {Session: "nope"},
		"principal":           {Principal: "uid:2"},
		"ok":                  {OK: ptr(true), Limit: 7},
		"not ok":              {OK: ptr(false)},
		"head":                {Head: "git"},
		"head of a statement": {Head: "inner"},
		"effect":              {Effects: []effect.Kind{effect.FSWrite}},
		"two effects":         {Effects: []effect.Kind{effect.Opaque, effect.FSWrite}},
		"no such effect":      {Effects: []effect.Kind{effect.Kind(77)}},
		"text":                {Text: "cmd 77"},
		"text no ascii":       {Text: "é\x00"},
		"request":             {RequestID: "req-99"},
		"since":               {Since: ptr(int64(1_015_000))},
		"until":               {Until: ptr(int64(1_005_000))},
		"time":                {Since: ptr(int64(1_003_500)), Until: ptr(int64(1_004_500))},
		"time and head":       {Since: ptr(int64(1_003_500)), Until: ptr(int64(1_009_500)), Head: "ls", Limit: 3},
		"empty time":          {Since: ptr(int64(9_000_000))},
		"times turned round":  {Since: ptr(int64(1_009_000)), Until: ptr(int64(1_001_000))},
		"greatest times":      {Since: ptr(int64(math.MinInt64)), Until: ptr(int64(math.MaxInt64))},
		"visible":             {VisibleTo: []messages.SessionName{"build", "a.b", "gone"}, Head: "rm"},
		"not visible":         {VisibleTo: []messages.SessionName{"gone"}},
		"visible and session": {VisibleTo: []messages.SessionName{"build"}, Session: "default"},
		"everything": {Since: ptr(int64(1_001_000)), Until: ptr(int64(1_020_000)), Session: "default", Principal: "uid:1", OK: ptr(false),
			Head: "git", Effects: []effect.Kind{effect.ProcSpawn}, Text: "cmd"},
	}
	for _, state := range []string{"folded", "unfolded", "half"} {
		s := open(t, options(t.TempDir()))
		var release func()
		if state == "unfolded" {
			release = hold(s)
		}
		for i := range all {
			intent := all[i]
			intent.Status, intent.OK, intent.Effects, intent.Statements = messages.EntryRunning, nil, []effect.Effect{{Kind: effect.Time}}, nil
			mustAppend(t, s, messages.Record{Entry: &intent})
			if i%3 == 0 {
				mustAppend(t, s, messages.Record{Entry: &all[i]})
			}
		}
		if state == "half" {
			settleFolds(t, s)
			release = hold(s)
		}
		for i := range all {
			mustAppend(t, s, messages.Record{Entry: &all[i]})
		}
		if state == "folded" {
			settleFolds(t, s)
		}
		for name, q := range queries {
			if diff := cmp.Diff(naive(all, q), walk(t, s, q)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%.2000s", state, name, diff)
			}
		}
		got, ok, err := s.Entry(77)
		if diff := cmp.Diff(all[76], got); diff != "" || !ok || err != nil {
			t.Errorf("entry 77: %v %v\n%s", ok, err, diff)
		}
		if running, err := s.Running(); len(running) != 0 || err != nil {
			t.Errorf("%d running, %v", len(running), err)
		}
		if release != nil {
			release()
		}
	}
}

func TestRunningAfterKill(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	for i := 1; i <= 4; i++ {
		mustAppend(t, s, messages.Record{Sync: true, Entry: &messages.Entry{ID: messages.EntryID(i), Status: messages.EntryRunning}})
	}
	mustAppend(t, s, messages.Record{Entry: &messages.Entry{ID: 2, Status: messages.EntryDone, OK: ptr(true)}})
	settleFolds(t, s)
	defer hold(s)()
	mustAppend(t, s, messages.Record{Entry: &messages.Entry{ID: 3, Status: messages.EntryCancelled}})
	mustAppend(t, s, messages.Record{Entry: &messages.Entry{ID: 5, Status: messages.EntryRunning}})
	var got []messages.EntryID
	running, err := reopenCopy(t, opt).Running()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range running {
		got = append(got, e.ID)
	}
	if diff := cmp.Diff([]messages.EntryID{5, 4, 1}, got); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
}

func TestBadQueries(t *testing.T) {
	s := open(t, options(t.TempDir()))
	good := encodeCursor(7)
	for name, q := range map[string]messages.JournalQuery{
		"negative limit": {Limit: -1}, "limit": {Limit: 1001}, "cursor": {Cursor: "x"},
		"cut cursor": {Cursor: good[:len(good)-1]}, "changed cursor": {Cursor: "B" + good[1:]}, "long cursor": {Cursor: good + good},
	} {
		_, err := s.Query(q)
		var e *messages.Error
		if !errors.As(err, &e) || e.Code != messages.CodeInvalidParams {
			t.Errorf("%s: %v, want INVALID_PARAMS", name, err)
		}
	}
	if page, err := s.Query(messages.JournalQuery{Cursor: good}); err != nil || len(page.Entries) != 0 {
		t.Errorf("a good cursor: %+v %v", page, err)
	}
}

// A query with no time left looks at some rows and goes on from there.
func TestBudgetEndsACall(t *testing.T) {
	s := open(t, options(t.TempDir()))
	all := sample(1500)
	for i := range all {
		mustAppend(t, s, messages.Record{Entry: &all[i]})
	}
	settleFolds(t, s)
	all = append(all, messages.Entry{ID: 1501, Src: "needle"})
	release := hold(s)
	defer release()
	mustAppend(t, s, messages.Record{Entry: &all[1500]})
	for i := range all { // most of them hide a folded row
		if i%5 != 0 {
			mustAppend(t, s, messages.Record{Entry: &all[i]})
		}
	}
	for name, q := range map[string]messages.JournalQuery{
		"all":          {},
		"text":         {Text: "cmd 3"},
		"intersection": {Head: "git", Session: "build"},
		"unfolded":     {Text: "needle"},
	} {
		var got []messages.EntryID
		next, calls := uint64(math.MaxUint64), 0
		for more := true; more; calls++ {
			r := search{f: newFilter(q), limit: 50, max: next, budget: 1}
			if err := s.search(&r); err != nil {
				t.Fatal(err)
			}
			for _, e := range r.hits {
				got = append(got, e.ID)
			}
			if r.more && r.max >= next {
				t.Fatalf("%s: no progress at %d", name, next)
			}
			next, more = r.max, r.more
		}
		if diff := cmp.Diff(naive(all, q), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if calls < 2 {
			t.Errorf("%s: one call did it all with no time", name)
		}
	}
}

func TestDamagedEntryIsNamed(t *testing.T) {
	for _, v := range []string{"", "\x01", "\x02aaaaaaaaaaaaaaaaaaaaaaa", "\x01\x00\x00\x00aaaaaaaabbbb\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if _, err := parseEntry([]byte(v)); err == nil {
			t.Errorf("%q was accepted", v)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	rec := record{key: "k", ts: 5, entryID: 3, entry: []byte("e"), rows: []messages.Row{{Table: "t", Key: "k"}, {Table: "t", Key: "l", Value: []byte("v")}},
		events: []event{{key: messages.ChannelKey{Session: "s", Name: "n"}, seq: 4, payload: []byte("1")}}, counters: []reservation{{"c", 9}}}
	f.Add(rec.encode(nil))
	f.Add([]byte{1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeRecord(1, b)
		if err != nil {
			return
		}
		again, err := decodeRecord(1, got.encode(nil))
		if err != nil || len(again.rows) != len(got.rows) || len(again.events) != len(got.events) {
			t.Errorf("round trip: %v %+v %+v", err, got, again)
		}
	})
}
