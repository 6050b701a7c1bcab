package proc

import (
	"io"
	"os"
	"sort"
	"sync"
	"sync/atomic"
)

// segment is a run of a stream, in memory or in a spill file. Its bytes never
// change, so captures and outputs share them.
type segment struct {
	off  int64
	n    int64
	mem  []byte
	file *spillFile
	foff int64
}

// store is an append-only byte log: the first bytes in memory, then in a file
// shared by reference, then only counted. How much is in memory the budget of all
// stores says too. One goroutine appends at a time; any
// may read.
type store struct {
	mu       sync.Mutex
	segs     []segment
	kept     int64
	total    int64
	resident int64
	memCap   int64
	cap      int64
	dir      string
	memory   *share     // of what all stores may have there
	disk     *allowance // of all stores
	spill    *spillFile
	spillErr error
	closed   bool
}

// add appends p and returns the segments that hold it, and whether the memory
// of p is now in use. Bytes past the cap, or that the disk refused, are counted.
func (s *store) add(p []byte) (segs []segment, retained bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(p)
}

func (s *store) addLocked(p []byte) (segs []segment, retained bool) {
	s.total += int64(len(p))
	if s.closed || s.spillErr != nil {
		return nil, false
	}
	p = p[:min(int64(len(p)), max(0, s.cap-s.kept))]
	if room := s.memory.keep(min(int64(len(p)), max(0, s.memCap-s.resident))); room > 0 {
		head := p[:room]
		segs = append(segs, s.pushLocked(segment{n: int64(len(head)), mem: head}))
		s.resident += int64(len(head))
		p, retained = p[len(head):], true
	}
	if len(p) == 0 {
		return segs, retained
	}
	if s.spill == nil {
		if s.spill, s.spillErr = newSpillFile(s.dir, s.disk); s.spillErr != nil {
			return segs, retained
		}
	}
	foff, err := s.spill.append(p)
	if err != nil {
		s.spillErr = err
		return segs, retained
	}
	return append(segs, s.pushLocked(segment{n: int64(len(p)), file: s.spill, foff: foff})), retained
}

// share appends segments that another store holds; files are counted, memory
// is kept while there is room and written to our own file afterwards.
func (s *store) share(segs []segment) (retained bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seg := range segs {
		if seg.mem != nil {
			_, kept := s.addLocked(seg.mem)
			retained = retained || kept
			continue
		}
		s.total += seg.n
		n := min(seg.n, max(0, s.cap-s.kept))
		if s.closed || s.spillErr != nil || n == 0 {
			continue
		}
		s.pushLocked(segment{n: n, file: seg.file.retain(), foff: seg.foff})
	}
	return retained
}

// pushLocked places a segment at the end, growing the last one when it
// continues it in memory or file.
func (s *store) pushLocked(seg segment) segment {
	seg.off = s.kept
	s.kept += seg.n
	if len(s.segs) > 0 {
		last := &s.segs[len(s.segs)-1]
		switch {
		case seg.mem != nil && last.mem != nil && cap(last.mem) > len(last.mem) &&
			&last.mem[:len(last.mem)+1][len(last.mem)] == &seg.mem[0]:
			last.mem = last.mem[:len(last.mem)+len(seg.mem)]
			last.n += seg.n
			return seg
		case seg.file != nil && last.file == seg.file && last.foff+last.n == seg.foff:
			last.n += seg.n
			if seg.file != s.spill {
				seg.file.release()
			}
			return seg
		}
	}
	s.segs = append(s.segs, seg)
	return seg
}

// count adds bytes that are nowhere kept.
func (s *store) count(n int64) {
	s.mu.Lock()
	s.total += n
	s.mu.Unlock()
}

// ReadAt implements io.ReaderAt over the kept bytes.
func (s *store) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, os.ErrInvalid
	}
	done := 0
	for done < len(p) {
		seg, ok := s.at(off)
		if !ok {
			return done, io.EOF
		}
		skip := off - seg.off
		n := int(min(int64(len(p)-done), seg.n-skip))
		if seg.mem != nil {
			copy(p[done:done+n], seg.mem[skip:])
		} else if m, err := seg.file.f.ReadAt(p[done:done+n], seg.foff+skip); err != nil && m < n {
			return done + m, err
		}
		done, off = done+n, off+int64(n)
	}
	return done, nil
}

// at finds the segment that holds offset off.
func (s *store) at(off int64) (segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off >= s.kept || s.closed {
		return segment{}, false
	}
	i := sort.Search(len(s.segs), func(i int) bool { return s.segs[i].off+s.segs[i].n > off })
	return s.segs[i], true
}

func (s *store) sizes() (kept, total, resident int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept, s.total, s.resident
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.memory.release()
	for _, seg := range s.segs {
		if seg.file != nil && seg.file != s.spill {
			seg.file.release()
		}
	}
	if s.spill != nil {
		s.spill.release()
	}
	s.segs = nil
}

// spillFile is an unlinked temporary file, closed by its last user.
type spillFile struct {
	f    *os.File
	size int64
	disk *share
	refs atomic.Int32
}

func newSpillFile(dir string, disk *allowance) (*spillFile, error) {
	f, err := os.CreateTemp(dir, "spill-*")
	if err != nil {
		return nil, err
	}
	// Nameless from the start: a killed kernel leaves nothing behind.
	os.Remove(f.Name())
	s := &spillFile{f: f}
	s.disk = shareFor(s, disk)
	s.refs.Store(1)
	return s, nil
}

func (s *spillFile) append(p []byte) (int64, error) {
	if err := s.disk.spill(int64(len(p))); err != nil {
		return 0, err
	}
	off := s.size
	n, err := s.f.WriteAt(p, off)
	s.size += int64(n)
	if err != nil {
		return 0, err
	}
	return off, nil
}

func (s *spillFile) retain() *spillFile {
	s.refs.Add(1)
	return s
}

func (s *spillFile) release() {
	if s.refs.Add(-1) == 0 {
		s.disk.release()
		s.f.Close()
	}
}
