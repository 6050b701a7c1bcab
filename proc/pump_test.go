package proc

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestFreezeTakesWhatIsWritten freezes a capture right after a write, before
// the pump is likely to have had a turn, while somebody keeps the pipe open.
func TestFreezeTakesWhatIsWritten(t *testing.T) {
	r := newRunner(t, Limits{})
	for i := range 200 {
		in, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		task := r.OpenOutput(uint64(i+1), nil)
		c := r.newCapture(0, 0)
		p := r.startPump(in, c, task.Stdout)
		want := strings.Repeat("x", 1+i*300)
		if _, err := w.WriteString(want); err != nil {
			t.Fatal(err)
		}
		p.freeze()
		if got := text(c); got != want {
			t.Fatalf("round %d: captured %d bytes of %d", i, len(got), len(want))
		}
		if _, err := w.WriteString("late"); err != nil {
			t.Fatal(err)
		}
		w.Close()
		<-p.done
		if got := text(c); got != want {
			t.Errorf("round %d: the frozen capture has grown to %d bytes", i, len(got))
		}
		if got := task.Stdout.Total(); got != int64(len(want)+len("late")) {
			t.Errorf("round %d: the output has %d bytes, want %d", i, got, len(want)+len("late"))
		}
		task.Close()
		c.Close()
	}
}

// TestFreezeBearsAFlood freezes a capture whose pipe never runs dry.
func TestFreezeBearsAFlood(t *testing.T) {
	r := newRunner(t, Limits{})
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := r.newCapture(0, 0)
	defer c.Close()
	p := r.startPump(in, c, nil)
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for line := []byte(strings.Repeat("y", 64<<10)); ; {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}()
	frozen := make(chan struct{})
	go func() { p.freeze(); close(frozen) }()
	select {
	case <-frozen:
	case <-time.After(30 * time.Second):
		t.Error("freeze does not end")
	}
	in.Close()
	<-flooded
	w.Close()
	<-p.done
}
