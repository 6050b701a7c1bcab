package wire

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// pair is a connected pair of Unix stream sockets.
func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	ln, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client.(*net.UnixConn), server.(*net.UnixConn)
}

func TestWriterKeepsFramesWholeAndEachSendersOrder(t *testing.T) {
	const senders, each = 8, 500
	a, b := pair(t)
	w := NewWriter(a)
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				frame := fmt.Appendf(nil, "%d %d %s", s, i, strings.Repeat("x", i%300))
				if err := w.Send(frame); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() { wg.Wait(); w.Close(); a.Close() }()
	next := [senders]int{}
	lines := bufio.NewScanner(b)
	for lines.Scan() {
		var s, i int
		var rest string
		fmt.Sscanf(lines.Text(), "%d %d %s", &s, &i, &rest)
		if i != next[s] || len(rest) != i%300 {
			t.Fatalf("sender %d: got frame %d with %d bytes, want frame %d", s, i, len(rest), next[s])
		}
		next[s]++
	}
	for s, n := range next {
		if n != each {
			t.Errorf("sender %d: %d of %d frames", s, n, each)
		}
	}
}

func TestWriterGivesUpAPeerThatDoesNotRead(t *testing.T) {
	a, b := pair(t)
	w := NewWriter(a)
	w.timeout = 50 * time.Millisecond
	frame := make([]byte, 1<<20)
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		err = w.Send(append([]byte(nil), frame...))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %v, want a passed deadline", err)
	}
	if err := w.Send([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("send after that: got %v, want the first error", err)
	}
	if err := w.Close(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("close after that: got %v, want the first error", err)
	}
	for buf := make([]byte, 1<<20); ; { // the stream was closed: the peer sees the end
		if _, err := b.Read(buf); err != nil {
			break
		}
	}
}

func TestWriterQueueIsBoundedAndDrainedByClose(t *testing.T) {
	a, b := pair(t)
	w := NewWriter(a)
	const frames, size = 64, 256 << 10
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range frames {
			w.Send(make([]byte, size))
			w.mu.Lock()
			queued := w.bytes
			w.mu.Unlock()
			if queued > maxQueued+size+1 {
				t.Errorf("%d bytes are queued", queued)
			}
		}
		w.Close()
		a.Close()
	}()
	total, buf := 0, make([]byte, 1<<16)
	for {
		n, err := b.Read(buf)
		total += n
		if err != nil {
			break
		}
	}
	<-sent
	if want := frames * (size + 1); total != want {
		t.Errorf("got %d bytes, want %d", total, want)
	}
	if err := w.Send([]byte("x")); err != ErrWriterClosed {
		t.Errorf("send after close: got %v", err)
	}
}

// gate is a stream that takes nothing until it is opened.
type gate struct {
	open   chan struct{}
	writes [][]byte
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.writes = append(g.writes, append([]byte(nil), p...))
	return len(p), nil
}

// Frames that others share wait until little is queued, are left as they are,
// and keep their order with other frames.
func TestWriterSendsSharedFrames(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	w := NewWriter(g)
	shared := []byte(strings.Repeat("0123456\n", 4<<10))
	before := string(shared)
	send := func() {
		if err := w.SendShared(shared[:len(shared):len(shared)]); err != nil {
			t.Error(err)
		}
	}
	go send() // which the gate holds up
	holds := func(cond func() bool) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for held := false; !held; <-tick.C {
			w.mu.Lock()
			held = cond()
			w.mu.Unlock()
		}
	}
	holds(func() bool { return w.busy })
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range 19 {
			send()
		}
		w.Send([]byte("last"))
	}()
	holds(func() bool { return w.bytes >= maxShared })
	w.mu.Lock()
	if w.bytes >= maxShared+len(shared) {
		t.Errorf("%d bytes are queued", w.bytes)
	}
	w.mu.Unlock()
	if err := w.Send([]byte("answer")); err != nil { // does not wait for them
		t.Error(err)
	}
	close(g.open)
	<-sent
	w.Close()
	var all []byte
	for _, p := range g.writes {
		all = append(all, p...)
	}
	rest := strings.Replace(string(all), "answer\n", "", 1)
	if rest != strings.Repeat(before, 20)+"last\n" || string(shared) != before {
		t.Errorf("got %d bytes, or not in order", len(all))
	}
}
