package recording

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// Cast is a version of the asciicast form.
type Cast int

// The versions.
const (
	V2 Cast = 2
	V3 Cast = 3
)

// WriteCast writes a log as an asciicast.
func WriteCast(w io.Writer, log *Reader, version Cast) error {
	out := bufio.NewWriter(w)
	c := &castWriter{out: json.NewEncoder(out), version: version, rest: map[Kind][]byte{}}
	c.out.SetEscapeHTML(false)
	if err := c.out.Encode(c.header(log.Header)); err != nil {
		return fmt.Errorf("write asciicast: %w", err)
	}
	for {
		e, err := log.Next()
		switch {
		case errors.Is(err, io.EOF):
			if err := c.flush(); err != nil {
				return fmt.Errorf("write asciicast: %w", err)
			}
			return out.Flush()
		case err != nil:
			return err
		}
		if err := c.event(e); err != nil {
			return fmt.Errorf("write asciicast: %w", err)
		}
	}
}

type castWriter struct {
	out     *json.Encoder
	version Cast
	last    time.Duration   // of the line before
	at      time.Duration   // of the event before
	rest    map[Kind][]byte // the begun character of each kind
}

func (c *castWriter) header(h Header) any {
	seconds := h.StartNS / int64(time.Second)
	if c.version == V3 {
		return struct {
			Version   int            `json:"version"`
			Term      map[string]any `json:"term"`
			Timestamp int64          `json:"timestamp"`
		}{3, map[string]any{"cols": h.Cols, "rows": h.Rows, "type": h.Term}, seconds}
	}
	return struct {
		Version   int               `json:"version"`
		Width     int               `json:"width"`
		Height    int               `json:"height"`
		Timestamp int64             `json:"timestamp"`
		Env       map[string]string `json:"env"`
	}{2, h.Cols, h.Rows, seconds, map[string]string{"TERM": h.Term}}
}

// event writes what is whole of an event's text; a character whose bytes came
// in two events appears with the second.
func (c *castWriter) event(e Event) error {
	c.at = e.At
	switch e.Kind {
	case Output, Input:
		text := append(c.rest[e.Kind], e.Data...)
		whole := len(text) - begun(text)
		c.rest[e.Kind] = append([]byte(nil), text[whole:]...)
		if whole == 0 {
			return nil
		}
		return c.line(e.Kind, string(text[:whole]))
	case Exit:
		if err := c.flush(); err != nil || c.version == V2 {
			return err
		}
	}
	return c.line(e.Kind, string(e.Data))
}

// flush writes characters that will not be completed.
func (c *castWriter) flush() error {
	for _, kind := range []Kind{Output, Input} {
		if rest := c.rest[kind]; len(rest) > 0 {
			c.rest[kind] = nil
			if err := c.line(kind, string(rest)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *castWriter) line(kind Kind, text string) error {
	at := c.at
	if c.version == V3 {
		at -= c.last
		c.last = c.at
	}
	return c.out.Encode([]any{at.Seconds(), string(rune(kind)), text})
}

// begun is how many bytes at the end are the beginning of a character.
func begun(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
