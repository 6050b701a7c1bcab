package builtin

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// lineSource gives the lines of a text, as lines does.
type lineSource struct{ rest string }

func (s *lineSource) Next(*interp.Machine) (value.Value, bool, error) {
	if s.rest == "" {
		return value.Null, false, nil
	}
	line, rest, _ := strings.Cut(s.rest, "\n")
	s.rest = rest
	return value.Str(strings.TrimSuffix(line, "\r")), true, nil
}

func (*lineSource) Close()     {}
func (*lineSource) live() bool { return false }

// blobSource gives the lines of bytes, wrong UTF-8 replaced.
type blobSource struct{ r *bufio.Reader }

func (s *blobSource) Next(m *interp.Machine) (value.Value, bool, error) {
	line, err := s.r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return value.Null, false, err
	}
	if line == "" {
		return value.Null, false, nil
	}
	return value.Str(lossy(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))), true, m.Check()
}

func (*blobSource) Close()     {}
func (*blobSource) live() bool { return false }

func newLineStream(c *interp.Call, _ []value.Value) (value.Value, error) {
	if c.Recv.Kind() == value.KindBytes {
		return value.NewStream("lines", true, &blobSource{bufio.NewReader(c.Recv.AsBytes().Reader())}), nil
	}
	return value.NewStream("lines", true, &lineSource{c.Recv.AsStr()}), nil
}

func streamEach(c *interp.Call, a []value.Value) (value.Value, error) {
	f, err := c.M.Callback(a[0], 1)
	if err != nil {
		return value.Null, err
	}
	return value.Null, drain(c, func(v value.Value) error {
		_, err := f.Call1(v)
		return err
	})
}

// drain pulls the receiver to its end.
func drain(c *interp.Call, f func(value.Value) error) error {
	src, err := opened(c)
	if err != nil {
		return err
	}
	return c.M.Each(src, func(v value.Value) (bool, error) { return true, f(v) })
}

func streamCollect(c *interp.Call, _ []value.Value) (value.Value, error) {
	all, err := c.M.Collect(c.Recv.AsStream(), ".collect")
	return value.NewList(all), err
}

func streamRender(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Null, drain(c, func(v value.Value) error {
		c.M.Sink(v)
		return nil
	})
}

func streamInto(c *interp.Call, a []value.Value) (value.Value, error) {
	name, err := channelArg(c, a[0])
	if err == nil {
		err = publishable(c, name)
	}
	if err != nil {
		return value.Null, err
	}
	to := c.M.Host().Channels
	if to == nil {
		return value.Null, argErr(c.Span, "%s: this host has no channels", c.Name)
	}
	return value.Null, drain(c, func(v value.Value) error {
		payload, err := eventPayload(c, v)
		if err != nil {
			return err
		}
		c.M.Outside(func() { err = to.Emit(c.M.Context(), name, payload) })
		return hostErr(c, err)
	})
}

// itemLines is a stream as the content of a file: one line per item, each given
// to the reader as soon as it is there.
type itemLines struct {
	m    *interp.Machine
	src  source
	rest []byte
	err  error // of the stream
}

func (r *itemLines) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		v, ok, err := r.src.Next(r.m)
		if err == nil && ok {
			r.rest, err = itemLine(v)
		}
		switch {
		case err != nil:
			r.err = err
			return 0, err
		case !ok:
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// itemLine is an item as a line: str and bytes as they are, others as JSON.
func itemLine(v value.Value) ([]byte, error) {
	switch v.Kind() {
	case value.KindStr:
		return append([]byte(v.AsStr()), '\n'), nil
	case value.KindBytes:
		b, err := v.AsBytes().All(0)
		return append(append([]byte(nil), b...), '\n'), err
	}
	text, err := value.EncodeJSON(nil, v, false)
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// streamSave writes to a file as items come. The host reads what it writes on
// the goroutine of the call.
func streamSave(mode interp.WriteMode) run {
	return func(c *interp.Call, a []value.Value) (value.Value, error) {
		files, err := filesOf(c)
		if err != nil {
			return value.Null, err
		}
		to := a[0].AsStr()
		if to == "" || strings.ContainsRune(to, 0) {
			return value.Null, argErr(c.Span, "%s: not a path: %s", c.Name, quoteShort(to))
		}
		src, err := opened(c)
		if err != nil {
			return value.Null, err
		}
		defer src.Close()
		lines := &itemLines{m: c.M, src: src}
		err = files.WriteFile(c.M.Context(), absolute(c.M, to), lines, mode)
		switch {
		case lines.err != nil:
			return value.Null, lines.err
		case err == nil:
			return value.Path(to), nil
		}
		if e, ok := errors.AsType[*value.Error](err); ok {
			return value.Null, e.WithSpan(spanOf(c.Span))
		}
		return value.Null, codeErr(c.Span, value.CodeCustom, "%s %s: %s", c.Name, lossy(to), reason(err))
	}
}
