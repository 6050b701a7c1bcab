package recording

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sample = []Event{
	{0, Output, []byte("a\x1b[1m\xe4")},
	{1500 * time.Millisecond, Output, []byte("\xb8\x96<\xff")},
	{2 * time.Second, Input, []byte("x")},
	{2 * time.Second, Resize, []byte("40x5")},
	{3 * time.Second, Output, []byte("\xe4")},
	{4 * time.Second, Exit, []byte("7")},
}

func write(t *testing.T, events []Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, Header{Cols: 80, Rows: 24, StartNS: 5e9, Cmd: []string{"sh", "-c", "x"}, Term: "xterm-256color"})
	for _, e := range events {
		err = errors.Join(err, w.Write(e))
	}
	if err != nil || w.Len() != int64(b.Len()) {
		t.Fatalf("wrote %d of %d: %v", w.Len(), b.Len(), err)
	}
	return b.Bytes()
}

func TestLogKeepsBytesAndTimes(t *testing.T) {
	r, err := NewReader(bytes.NewReader(write(t, sample)))
	if err != nil {
		t.Fatal(err)
	}
	var got []Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(sample, got); diff != "" {
		t.Error(diff)
	}
	want := Header{Version: 1, Cols: 80, Rows: 24, StartNS: 5e9, Cmd: []string{"sh", "-c", "x"}, Term: "xterm-256color"}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Error(diff)
	}
}

func TestCasts(t *testing.T) {
	const tail = `"o","a\u001b[1m"]` + "\n"
	for version, want := range map[Cast]string{
		V2: `{"version":2,"width":80,"height":24,"timestamp":5,"env":{"TERM":"xterm-256color"}}` + "\n" +
			`[0,` + tail + `[1.5,"o","世<` + "�" + `"]` + "\n" + `[2,"i","x"]` + "\n" + `[2,"r","40x5"]` + "\n" + `[4,"o","` + "�" + `"]` + "\n",
		V3: `{"version":3,"term":{"cols":80,"rows":24,"type":"xterm-256color"},"timestamp":5}` + "\n" +
			`[0,` + tail + `[1.5,"o","世<` + "�" + `"]` + "\n" + `[0.5,"i","x"]` + "\n" + `[0,"r","40x5"]` + "\n" + `[2,"o","` + "�" + `"]` + "\n" + `[0,"x","7"]` + "\n",
	} {
		r, err := NewReader(bytes.NewReader(write(t, sample)))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := WriteCast(&b, r, version); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(b.String(), `\ufffd`, "�")); diff != "" {
			t.Errorf("version %d: %s", version, diff)
		}
	}
}

// Every cut of a log is told, none is taken for an end inside an event.
func TestDamagedLogs(t *testing.T) {
	whole := write(t, []Event{{time.Second, Output, []byte("hello")}})
	start := bytes.IndexByte(whole, '\n') + 1
	for n := range len(whole) {
		r, err := NewReader(bytes.NewReader(whole[:n]))
		if err == nil {
			_, err = r.Next()
			if n == start && errors.Is(err, io.EOF) {
				continue
			}
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("cut at %d: got %v, want an error", n, err)
		}
	}
	if _, err := NewReader(strings.NewReader("{}\n")); err == nil {
		t.Error("another file was taken for a log")
	}
}
