package interp

import (
	"context"
	"io"
	"os"
	"sync"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// feedStream runs a command whose stdin is a stream's items as they come: lines
// of str, or bytes. The first one is there before the command starts. An item
// that is neither ends the command and raises.
func (m *Machine) feedStream(s *value.Stream, span syntax.Span, run func(*streams) value.Value) value.Value {
	src, err := OpenStream(s)
	if err != nil {
		return m.raise(err, span)
	}
	defer src.Close()
	first, more, err := m.feedItem(src)
	if err != nil {
		return m.raise(err, span)
	}
	in := &itemReader{rest: first, items: make(chan []byte), done: make(chan struct{})}
	if !more {
		close(in.items)
		return run(&streams{input: in, fed: true})
	}
	outer := m.ctx
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	feeder, err := m.Branch(func(b *Machine) (value.Value, error) {
		err := b.pump(src, in)
		if err != nil {
			cancel() // ends the command
		}
		return value.Null, err
	}, nil)
	if err != nil {
		return m.raise(err, span)
	}
	m.ctx = ctx
	v := run(&streams{input: in, fed: true})
	m.ctx = outer
	in.Close()
	feeder.Stop()
	m.Outside(func() { <-feeder.Done() })
	if _, err := feeder.Result(); err != nil && outer.Err() == nil {
		if m.ctl == raised {
			m.take()
		}
		return m.raise(err, span)
	}
	return v
}

// pump gives a stream's items to a reader until the stream ends or nobody reads.
func (m *Machine) pump(src Source, in *itemReader) error {
	defer close(in.items)
	for {
		data, ok, err := m.feedItem(src)
		stopped := in.closed()
		switch {
		case stopped:
			return nil
		case err != nil || !ok:
			return err
		}
		m.Outside(func() {
			select {
			case in.items <- data:
			case <-in.done:
				stopped = true
			case <-m.ctx.Done():
				stopped = true
			}
		})
		if stopped {
			return nil
		}
	}
}

// feedItem is the next item of a stream as a program's input. Notices of lost
// items are passed over.
func (m *Machine) feedItem(src Source) ([]byte, bool, error) {
	for {
		v, ok, err := m.pull(src)
		if err != nil || !ok {
			return nil, false, err
		}
		switch v.Kind() {
		case value.KindStr:
			return append([]byte(v.AsStr()), '\n'), true, nil
		case value.KindBytes:
			data, err := v.AsBytes().All(0)
			return data, true, err
		case value.KindRecord:
			if r := v.AsRecord(); len(r.Vals) == 1 && r.Shape.Slot("dropped") == 0 {
				continue
			}
		}
		return nil, false, value.Errorf(value.CodeType, "cannot feed a stream of %s", v.Kind()).
			WithHint("items must be str or bytes: `collect` the stream first, or `.map(.json())` it")
	}
}

// itemReader is a program's input that another goroutine makes. Read is for one
// goroutine, Close for any.
type itemReader struct {
	rest  []byte
	items chan []byte // closed at the end
	done  chan struct{}
	once  sync.Once
}

func (r *itemReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		select {
		case data, ok := <-r.items:
			if !ok {
				return 0, io.EOF
			}
			r.rest = data
		case <-r.done:
			return 0, os.ErrClosed
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close says that nobody reads any more.
func (r *itemReader) Close() error {
	r.once.Do(func() { close(r.done) })
	return nil
}

func (r *itemReader) closed() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}
