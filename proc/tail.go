package proc

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// A tail file mirrors the newest output of one running task in a shared
// mapping, so that it survives the death of the kernel without a system call
// per write. Files are reused from task to task: the header says whose bytes
// they are, zero meaning nobody's.
//
//	0   magic and version
//	8   task number
//	16  bytes of stdout ever written
//	24  bytes of stderr ever written
//	64  ring of stdout, then ring of stderr
const (
	tailMagic  = 0x01_6c696174_6c6873 // "shl" "tail" 1
	tailHeader = 64
	// TailSize is how much of each stream a kernel finds after the death of
	// its predecessor, in bytes.
	TailSize = 64 << 10
	tailFile = tailHeader + 2*TailSize
	// tailIdleMax is how many unused files stay mapped.
	tailIdleMax = 16
)

// Tails is the newest output of a task whose kernel died.
type Tails struct {
	Stdout, Stderr           []byte // at most TailSize each
	StdoutTotal, StderrTotal int64  // bytes ever written
}

// RecoverTails reads what an earlier kernel's running tasks printed last and
// removes the files. Call it before New uses the same directory.
func RecoverTails(runDir string) (map[uint64]Tails, error) {
	names, err := filepath.Glob(filepath.Join(runDir, "tail-*"))
	if err != nil {
		return nil, fmt.Errorf("recover tails: %w", err)
	}
	found := map[uint64]Tails{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return found, fmt.Errorf("recover tails: %w", err)
		}
		if len(b) == tailFile && binary.LittleEndian.Uint64(b) == tailMagic {
			if task := binary.LittleEndian.Uint64(b[8:]); task != 0 {
				var t Tails
				t.Stdout, t.StdoutTotal = tailRing(b, Stdout)
				t.Stderr, t.StderrTotal = tailRing(b, Stderr)
				found[task] = t
			}
		}
		if err := os.Remove(name); err != nil {
			return found, fmt.Errorf("recover tails: %w", err)
		}
	}
	return found, nil
}

// tailRing unrolls a ring into its bytes in order.
func tailRing(b []byte, which Stream) ([]byte, int64) {
	total := binary.LittleEndian.Uint64(b[16+8*int(which):])
	ring := b[tailHeader+int(which)*TailSize:][:TailSize]
	if total <= TailSize {
		return append([]byte(nil), ring[:total]...), int64(total)
	}
	at := total % TailSize
	return append(append([]byte(nil), ring[at:]...), ring[:at]...), int64(total)
}

// tailPool hands out mapped files.
type tailPool struct {
	dir  string
	mask func([]byte) []byte // may be nil
	// margin is by how much what mask hides may reach over the end of a piece; may
	// be nil.
	margin func() int

	mu   sync.Mutex
	next int
	idle [][]byte
	name map[*byte]string
	done bool
}

func newTailPool(dir string, mask func([]byte) []byte, margin func() int) *tailPool {
	return &tailPool{dir: dir, mask: mask, margin: margin, name: map[*byte]string{}}
}

func (p *tailPool) acquire(task uint64) []byte {
	if p.dir == "" || task == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var m []byte
	if n := len(p.idle); n > 0 {
		m, p.idle = p.idle[n-1], p.idle[:n-1]
	} else if m = p.mapLocked(); m == nil {
		return nil
	}
	binary.LittleEndian.PutUint64(m[16:], 0)
	binary.LittleEndian.PutUint64(m[24:], 0)
	binary.LittleEndian.PutUint64(m[8:], task)
	return m
}

// mapLocked makes a new file; without one a task merely has no mirror.
func (p *tailPool) mapLocked() []byte {
	if p.done {
		return nil
	}
	p.next++
	name := filepath.Join(p.dir, fmt.Sprintf("tail-%d-%d", os.Getpid(), p.next))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil
	}
	defer f.Close()
	if err := reserve(f, tailFile); err != nil {
		os.Remove(name)
		return nil
	}
	m, err := unix.Mmap(int(f.Fd()), 0, tailFile, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		os.Remove(name)
		return nil
	}
	binary.LittleEndian.PutUint64(m, tailMagic)
	p.name[&m[0]] = name
	return m
}

func (p *tailPool) giveBack(m []byte) {
	binary.LittleEndian.PutUint64(m[8:], 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) < tailIdleMax && !p.done {
		p.idle = append(p.idle, m)
		return
	}
	p.dropLocked(m)
}

func (p *tailPool) dropLocked(m []byte) {
	os.Remove(p.name[&m[0]])
	delete(p.name, &m[0])
	unix.Munmap(m)
}

func (p *tailPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	for _, m := range p.idle {
		p.dropLocked(m)
	}
	p.idle = nil
}

// tail is the mirror of one task; its file is taken at the first write.
type tail struct {
	pool *tailPool
	task uint64

	mu   sync.Mutex
	m    []byte
	over bool
	last [2][]byte // the end of each stream, as it came: what is hidden may have begun there
}

func (t *tail) write(which Stream, p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || len(p) == 0 {
		return
	}
	if t.m == nil {
		if t.m = t.pool.acquire(t.task); t.m == nil {
			t.over = true
			return
		}
	}
	head := t.m[16+8*int(which):]
	total := binary.LittleEndian.Uint64(head)
	if t.pool.mask != nil {
		back := len(t.last[which])
		p = t.hidden(which, p)
		total -= uint64(back)
	}
	ring := t.m[tailHeader+int(which)*TailSize:][:TailSize]
	end := total + uint64(len(p))
	if len(p) > TailSize {
		total += uint64(len(p) - TailSize)
		p = p[len(p)-TailSize:]
	}
	n := copy(ring[total%TailSize:], p)
	copy(ring, p[n:])
	binary.LittleEndian.PutUint64(head, end)
}

// hidden is a piece, behind the end of what was written before it, as it may be
// written.
func (t *tail) hidden(which Stream, p []byte) []byte {
	margin := 0
	if t.pool.margin != nil {
		margin = min(t.pool.margin(), TailSize)
	}
	if margin == 0 && len(t.last[which]) == 0 {
		return t.pool.mask(p)
	}
	joined := append(t.last[which], p...)
	out := t.pool.mask(joined)
	if &out[0] == &joined[0] {
		out = append([]byte(nil), joined...)
	}
	keep := joined[max(0, len(joined)-margin):]
	t.last[which] = append(joined[:0:0], keep...)
	return out
}

func (t *tail) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.m != nil {
		t.pool.giveBack(t.m)
		t.m = nil
	}
}
