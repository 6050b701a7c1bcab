package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	subscribers = 100
	published   = 10_000 // events of one round, and of one second where they are paced
	publishing  = 64     // publications that are open at once
)

// eventRows measure what it takes to give events to many raw connections. The
// readers are on the same machine, and so are what writes the same bytes without
// any more ado: that is as fast as it can get here.
func (b *bench) eventRows() []row {
	var fast, paced, bare fanCost
	return []row{
		{key: "events", what: "events delivered to 100 raw subscribers of one channel, none dropped", unit: perSec,
			ours: func() (float64, error) { return b.fanOut(&fast, 0) },
			ref:  "a loop that writes the same bytes", peer: func() (float64, error) { return b.spray(&bare) }, least: 0.1,
			note: func() string { return fast.note("kernel") + bare.note("loop") }},
		{key: "events.paced", what: "the same, where 10,000 are published in a second", unit: perSec,
			ours: func() (float64, error) { return b.fanOut(&paced, time.Second/published) }, least: 0.95 * subscribers * published,
			note: func() string { return paced.note("kernel") }},
	}
}

// fanCost is processor time for one delivery, in seconds.
type fanCost struct{ writer, readers float64 }

func (c fanCost) note(writer string) string {
	return fmt.Sprintf("; processor time for a delivery: %s %.2f µs, its readers %.2f µs", writer, c.writer*1e6, c.readers*1e6)
}

// fanOut publishes events to a channel that a hundred connections read, one
// every pace, and gives the events that they have got together in a second.
func (b *bench) fanOut(cost *fanCost, pace time.Duration) (float64, error) {
	if _, err := b.shoal(); err != nil {
		return 0, err
	}
	channel := "user.fan" + strconv.FormatInt(time.Now().UnixNano(), 36)
	var all []*line
	defer func() {
		for _, l := range all {
			l.Close()
		}
	}()
	for range subscribers + 1 {
		l, err := b.dialKernel(b.warm, "bench")
		if err != nil {
			return 0, err
		}
		all = append(all, l)
		if len(all) > 1 {
			if err := l.ask("events.subscribe", `{"channel":"`+channel+`"}`); err != nil {
				return 0, err
			}
		}
	}
	pid, err := kernelPID(b.warm)
	if err != nil {
		return 0, err
	}
	var readers []io.Reader
	for _, l := range all[1:] {
		readers = append(readers, l.Conn) // the answer was all that its buffer had
	}
	return timed(cost, pid, readers, channel, func() error { return all[0].publish(channel, published, pace) })
}

// timed lets readers read what write has sent to them by process pid.
func timed(cost *fanCost, pid int, readers []io.Reader, channel string, write func() error) (float64, error) {
	used, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	own, err := ownTime()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	ended := make(chan error, len(readers)+1)
	for _, r := range readers {
		go func() { ended <- readEvents(r, channel, published) }()
	}
	go func() { ended <- write() }()
	for range len(readers) + 1 {
		if err := <-ended; err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	after, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	ownAfter, err := ownTime()
	n := float64(published * len(readers))
	*cost = fanCost{(after - used).Seconds() / n, (ownAfter - own).Seconds() / n}
	return n / took.Seconds(), err
}

// readEvents reads n events, each of which has to be the next one.
func readEvents(r io.Reader, channel string, n int) error {
	head := []byte(`{"jsonrpc":"2.0","method":"event","params":{"channel":"` + channel + `","seq":`)
	buf, have := make([]byte, 64<<10), 0
	for next := 0; next < n; {
		got, err := r.Read(buf[have:])
		if err != nil {
			return fmt.Errorf("read event %d: %w", next, err)
		}
		have += got
		rest := buf[:have]
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			if !isEvent(rest[:end], head, next) {
				return fmt.Errorf("instead of event %d came %.200s", next, rest[:end])
			}
			rest = rest[end+1:]
			next++
		}
		if have = copy(buf, rest); have == len(buf) {
			return fmt.Errorf("event %d has no end", next)
		}
	}
	return nil
}

// isEvent reports whether a frame is the event with that number. What tells of
// lost events has no time behind its number.
func isEvent(frame, head []byte, number int) bool {
	if !bytes.HasPrefix(frame, head) {
		return false
	}
	n, rest := 0, frame[len(head):]
	for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		n = 10*n + int(rest[0]-'0')
		rest = rest[1:]
	}
	return n == number && bytes.HasPrefix(rest, []byte(`,"ts":`))
}

// publish publishes n events, a few at a time, one every pace.
func (l *line) publish(channel string, n int, pace time.Duration) error {
	room := make(chan struct{}, publishing)
	ctx, cancel := context.WithCancelCause(context.Background())
	var answered sync.WaitGroup
	answered.Go(func() {
		for range n {
			got, err := l.in.ReadSlice('\n')
			if err == nil && !bytes.Contains(got, []byte(`"result"`)) {
				err = fmt.Errorf("publish: got %.300s", got)
			}
			if err != nil {
				cancel(err)
				l.Close()
				return
			}
			<-room
		}
	})
	out := bufio.NewWriterSize(l, 1<<14)
	start := time.Now()
	var frame []byte
	for i := range n {
		ahead := time.Duration(i)*pace - time.Since(start)
		if pace > 0 && ahead > 0 || len(room) == cap(room) { // what is buffered makes room
			if err := out.Flush(); err != nil {
				return errors.Join(err, context.Cause(ctx))
			}
			time.Sleep(ahead)
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		frame = strconv.AppendInt(append(frame[:0], `{"jsonrpc":"2.0","id":`...), int64(i), 10)
		frame = append(frame, `,"method":"events.publish","params":{"channel":"`...)
		frame = append(append(frame, channel...), `","payload":{"n":`...)
		frame = append(strconv.AppendInt(frame, int64(i), 10), "}}}\n"...)
		out.Write(frame) // its error stays for Flush
	}
	err := out.Flush()
	answered.Wait()
	return errors.Join(err, context.Cause(ctx))
}

// spray has the same readers read the same bytes from a process that does
// nothing but write them.
func (b *bench) spray(cost *fanCost) (float64, error) {
	if b.sprayer == "" {
		var err error
		if b.sprayer, err = b.build("spray"); err != nil {
			return 0, err
		}
	}
	socket := filepath.Join(b.root, "spray.socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return 0, err
	}
	defer l.Close()
	channel := "user.fan" + strconv.FormatInt(time.Now().UnixNano(), 36)
	cmd := exec.CommandContext(b.ctx, b.sprayer, socket, channel, strconv.Itoa(subscribers), strconv.Itoa(published))
	begin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() { begin.Close(); cmd.Wait() }()
	var readers []io.Reader
	for range subscribers {
		c, err := l.Accept()
		if err != nil {
			return 0, err
		}
		defer c.Close()
		readers = append(readers, c)
	}
	n, err := timed(cost, cmd.Process.Pid, readers, channel, func() error {
		_, err := io.WriteString(begin, "\n")
		return err
	})
	if err != nil {
		err = fmt.Errorf("%w (%s)", err, said.String())
	}
	return n, err
}
