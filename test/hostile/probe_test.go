package hostile

import (
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"shoal.dev/shoal/test/kit"
)

// probePause is what a probe rests between two questions.
const probePause = 2 * time.Millisecond

// probe asks one question again and again and keeps how long each took.
type probe struct {
	mu    sync.Mutex
	took  []time.Duration
	peak  int64 // greatest resident memory of the kernel seen, in bytes
	stop  chan struct{}
	once  sync.Once
	ended sync.WaitGroup
}

// startProbe asks until the test ends. After each answer it looks at the memory
// of pid, if that is not 0.
func startProbe(t *testing.T, pid int, ask func()) *probe {
	p := &probe{stop: make(chan struct{})}
	p.ended.Go(func() {
		tick := time.NewTicker(probePause)
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
			}
			began := time.Now()
			ask()
			took := time.Since(began)
			p.mu.Lock()
			p.took = append(p.took, took)
			if pid != 0 {
				p.peak = max(p.peak, kit.Resident(pid))
			}
			p.mu.Unlock()
		}
	})
	t.Cleanup(p.end)
	return p
}

// end stops the asking; the second time it does nothing.
func (p *probe) end() {
	p.once.Do(func() { close(p.stop) })
	p.ended.Wait()
}

// report is what a probe has seen since the last report.
type report struct {
	asked       int
	worst, late time.Duration // the longest answer, and the 99th of a hundred
	peak        int64
}

// take gives the report and begins the next one.
func (p *probe) take() report {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := report{asked: len(p.took), peak: p.peak}
	if r.asked > 0 {
		slices.Sort(p.took)
		r.worst, r.late = p.took[r.asked-1], p.took[r.asked*99/100]
	}
	p.took, p.peak = nil, 0
	return r
}

// echo is a process that answers each line at once: what a question through
// pipes costs on this machine now, whatever the kernel does.
func echo(t *testing.T) func() {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	buf := make([]byte, 2)
	return func() {
		in.Write([]byte("1\n"))
		io.ReadFull(out, buf)
	}
}
