package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
)

func benchRecord(i int, sync bool) messages.Record {
	id := messages.EntryID(i + 1)
	return messages.Record{
		Key: fmt.Sprint("entry:", id), Sync: sync,
		Entry: &messages.Entry{ID: id, TS: int64(i), Session: "default", Principal: "uid:1000", Kind: messages.EntryExec,
			Src: "let x = ls | where .size > 10", Head: "ls", Status: messages.EntryDone, OK: ptr(true),
			Effects: []effect.Effect{{Kind: effect.FSRead, Path: "/work"}}},
		Rows: []messages.Row{{Table: "out", Key: fmt.Sprint("default/", i), Value: make([]byte, 200)}},
		Events: []messages.Draft{draft("default", "journal", `{"id":1,"head":"ls","ok":true,"principal":"uid:1000","session":"default"}`),
			draft("default", "session.transcript", `{"ref":"out:1","type":"table"}`)},
	}
}

// BenchmarkAppend compares a whole record, answered, with appending and syncing
// as many bytes to a bare file.
func BenchmarkAppend(b *testing.B) {
	size := len(encoded(b, benchRecord(1, false)))
	for _, sync := range []bool{false, true} {
		name := map[bool]string{false: "pure", true: "sync"}[sync]
		b.Run(name+"/journal", func(b *testing.B) {
			s := open(b, options(b.TempDir()))
			done := make(chan messages.Appended, 1)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.Append(benchRecord(i, sync), func(a messages.Appended) { done <- a })
				if a := <-done; a.Err != nil {
					b.Fatal(a.Err)
				}
			}
		})
		b.Run(name+"/file", func(b *testing.B) {
			f, err := openDiskFile(filepath.Join(b.TempDir(), "file"))
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			buf := make([]byte, size)
			for i := int64(0); b.Loop(); i++ {
				if _, err := f.WriteAt(buf, i*int64(size)); err != nil {
					b.Fatal(err)
				}
				if sync {
					if err := f.Datasync(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	b.Run("pure/journal-64", func(b *testing.B) {
		s := open(b, options(b.TempDir()))
		slots := make(chan struct{}, 64)
		for i := 0; b.Loop(); i++ {
			slots <- struct{}{}
			s.Append(benchRecord(i, false), func(messages.Appended) { <-slots })
		}
	})
}

func encoded(b *testing.B, in messages.Record) []byte {
	rec, err := prepare(in)
	if err != nil {
		b.Fatal(err)
	}
	return rec.encode(nil)
}

// BenchmarkOpen opens stores of 100,000 entries: all folded, and with a tail of
// 2,000 records as a kill under load leaves it.
func BenchmarkOpen(b *testing.B) {
	opt := options(b.TempDir())
	s := open(b, opt)
	const n = 100_000
	slots := make(chan struct{}, 512)
	for i := range n {
		slots <- struct{}{}
		s.Append(benchRecord(i, false), func(messages.Appended) { <-slots })
	}
	settleFolds(b, s)
	release := hold(s)
	for i := range 2000 {
		mustAppend(b, s, benchRecord(n+i, false))
	}
	killed := options(b.TempDir())
	if err := os.CopyFS(killed.Dir, os.DirFS(opt.Dir)); err != nil {
		b.Fatal(err)
	}
	release()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("folded", func(b *testing.B) {
		for b.Loop() {
			reopen(b, opt)
		}
	})
	b.Run("killed", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(killed)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Running(); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if s.Stats().Unfolded < 2000 {
				b.Skip("too slow to catch the tail before it is folded")
			}
			crash(b, s)
			b.StartTimer()
		}
	})
	s = open(b, opt)
	for name, q := range map[string]messages.JournalQuery{
		"newest": {}, "head": {Head: "ls"}, "none": {Session: "default", Head: "nope"}, "text": {Text: "nothing like it"},
	} {
		b.Run("query/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Query(q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// reopen times Open and the reading of what still runs; closing is not timed.
func reopen(b *testing.B, opt Options) {
	s, err := Open(opt)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Running(); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	_ = s.Close()
	b.StartTimer()
}

func BenchmarkBlobRange(b *testing.B) {
	s := open(b, options(b.TempDir()))
	blob, err := s.PutBlob(bytes.NewReader(content(64<<20, false)))
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	for i := int64(0); b.Loop(); i++ {
		r, size, err := s.OpenBlob(blob.Hash)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadAt(buf, i*7919*1024%(size-int64(len(buf)))); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkPutBlob(b *testing.B) {
	s := open(b, options(b.TempDir()))
	data := content(8<<20, false)
	b.SetBytes(int64(len(data)))
	for i := 0; b.Loop(); i++ {
		copy(data, fmt.Sprint(i))
		if _, err := s.PutBlob(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
