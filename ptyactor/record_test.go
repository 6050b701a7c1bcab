package ptyactor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/recording"
	"shoal.dev/shoal/ptyactor/screen"
)

// shelf is a content store in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[messages.Ref][]byte
}

func newShelf() *shelf { return &shelf{kept: map[messages.Ref][]byte{}} }

func (s *shelf) put(r io.Reader) (messages.Blob, error) {
	b, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	blob := messages.Blob{Hash: fmt.Sprint(len(s.kept)), Len: int64(len(b))}
	s.kept[blobRef(blob)] = b
	return blob, err
}

func (s *shelf) get(ref messages.Ref) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[ref]
}

func (s *shelf) keeper(t testing.TB) *Keeper {
	return &Keeper{Dir: t.TempDir(), Put: s.put, Mask: func(r io.Reader) io.Reader { return r }}
}

// recorded opens a recorded terminal.
func recorded(t testing.TB, r *Registry, input bool, cmd string, args ...string) *Host {
	t.Helper()
	req := request(t, cmd, args...)
	req.Record, req.RecordInput = true, input
	opened, bad := r.Open(req)
	if bad != nil {
		t.Fatal(bad)
	}
	h, _ := r.Adopt(opened.PTY)
	return h
}

// replay draws a log, and collects its input.
func replay(t testing.TB, log []byte) (shot *screen.Snapshot, typed string) {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	s := screen.Own.New(r.Header.Cols, r.Header.Rows, 100)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s.Snapshot(), typed
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case recording.Output:
			s.Write(e.Data)
		case recording.Input:
			typed += string(e.Data)
		case recording.Resize:
			var cols, rows int
			fmt.Sscanf(string(e.Data), "%dx%d", &cols, &rows)
			s.Resize(cols, rows)
		}
	}
}

// A recording that is played again shows the same screen.
func TestReplayShowsTheSame(t *testing.T) {
	s := newShelf()
	r := newRegistry(t, Config{Keep: s.keeper(t)})
	h := recorded(t, r, false, "vim", "-u", "NONE", "-N")
	until(t, h, text("~"))
	send(t, h, &messages.PTYWait{StableMS: ptr(200), TimeoutMS: 5000}, "ihello 世界", key("Enter"), strings.Repeat("long ", 40), key("Escape"))
	if _, bad := r.Resize(h, 50, 12); bad != nil {
		t.Fatal(bad)
	}
	until(t, h, messages.PTYWait{StableMS: ptr(300), TimeoutMS: 5000})
	want := h.Snapshot()
	now, bad := h.Recorded()
	if bad != nil {
		t.Fatal(bad)
	}
	got, typed := replay(t, s.get(now.Log))
	if diff := cmp.Diff(want.Lines, got.Lines); diff != "" || want.Row != got.Row || want.Col != got.Col {
		t.Errorf("cursor %d,%d, want %d,%d; lines: %s", got.Row, got.Col, want.Row, want.Col, diff)
	}
	if typed != "" {
		t.Errorf("input was recorded unasked: %q", typed)
	}
	send(t, h, nil, ":q!", key("Enter"))
	exited(t, h)
	closed, bad := r.Close(context.Background(), h.id)
	if bad != nil || closed.Recording == nil {
		t.Fatalf("close: %+v %v, want the recording", closed, bad)
	}
	cast := string(s.get(closed.Recording.Ref))
	first, rest, _ := strings.Cut(cast, "\n")
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal([]byte(first), &head); err != nil || head.Version != 2 || head.Width != 80 || head.Height != 24 {
		t.Errorf("head of the cast: %s %v", first, err)
	}
	if !strings.Contains(rest, `,"r","50x12"]`) {
		t.Error("the cast has no resize")
	}
}

// Input is recorded on demand, and never what the terminal does not show.
func TestTypedSecretsAreNotRecorded(t *testing.T) {
	s := newShelf()
	r := newRegistry(t, Config{Keep: s.keeper(t)})
	h := recorded(t, r, true, "sh", "-c", `read name; stty -echo; printf 'Password: '; read secret; stty echo; printf '\nthanks\n'; read more; exit 3`)
	send(t, h, nil, "alice", key("Enter"))
	until(t, h, text("Password:"))
	send(t, h, nil, "hunter2hunter2", key("Enter"))
	until(t, h, text("thanks"))
	send(t, h, nil, "visible", key("Enter"))
	exited(t, h)
	closed, bad := r.Close(context.Background(), h.id)
	if bad != nil || closed.Recording == nil {
		t.Fatalf("close: %+v %v", closed, bad)
	}
	if _, typed := replay(t, s.get(closed.Recording.Log)); typed != "alice\rvisible\r" {
		t.Errorf("typed: got %q", typed)
	}
	for ref, b := range s.kept {
		if bytes.Contains(b, []byte("hunter2")) {
			t.Errorf("%s holds the secret", ref)
		}
	}
}

func TestRecordingHasALimit(t *testing.T) {
	s := newShelf()
	rec, err := startRecorder(s.keeper(t), messages.OpenPTY{Cmd: "x", Cols: 80, Rows: 24}, "dumb")
	if err != nil {
		t.Fatal(err)
	}
	defer rec.close()
	part := bytes.Repeat([]byte("x"), recordMax/8)
	for range 10 {
		rec.event(recording.Output, part)
	}
	kept, err := rec.store()
	if err != nil || !kept.Truncated || kept.Bytes > recordMax || kept.Bytes < recordMax/2 {
		t.Errorf("got %+v %v", kept, err)
	}
}

func TestNotRecorded(t *testing.T) {
	r := newRegistry(t, Config{})
	if _, bad := start(t, r, "cat").Recorded(); bad == nil || bad.Code != messages.CodeInvalidParams {
		t.Errorf("got %v, want a refusal", bad)
	}
	req := request(t, "cat")
	req.Record = true
	if _, bad := r.Open(req); bad == nil {
		t.Error("recorded without a content store")
	}
}

// Whoever holds the keyboard alone may type; the other side is told who.
func TestKeyboardLease(t *testing.T) {
	k := newKit(t)
	opened := must(t, k, request(t, "cat"))
	hold := func(reader string, seconds int) (messages.PTYHeld, error) {
		return ask(t, k, messages.HoldPTY{Session: testSession, Reader: reader, Name: "uid:1", PTY: opened.PTY, Seconds: seconds})
	}
	from := func(reader, text string) error {
		req := typed(opened.PTY, nil, text)
		req.Reader = reader
		return second(ask(t, k, req))
	}
	held, err := hold("person", 60)
	if err != nil || held.Keyboard == nil || !held.Keyboard.Yours || held.Keyboard.ExpiresMS > 60000 {
		t.Fatalf("got %+v %v", held.Keyboard, err)
	}
	if err := from("agent", "AAA"); code(err) != messages.CodeTaskControl || !strings.Contains(err.Error(), "uid:1") {
		t.Errorf("the agent typed: %v", err)
	}
	if _, err := hold("agent", 60); code(err) != messages.CodeTaskControl {
		t.Errorf("the agent took it: %v", err)
	}
	if _, err := hold("agent", 0); err != nil {
		t.Error(err)
	}
	if err := from("person", "BBB"); err != nil {
		t.Error(err)
	}
	w := text("BBB")
	s := must(t, k, messages.ReadPTY{Session: testSession, Reader: "agent", PTY: opened.PTY, Wait: &w})
	if s.Keyboard == nil || s.Keyboard.Yours || strings.Contains(strings.Join(s.Lines, ""), "AAA") {
		t.Errorf("the agent sees %+v on %q", s.Keyboard, s.Lines)
	}
	if held, err := hold("person", 0); err != nil || held.Keyboard != nil {
		t.Errorf("given back: %+v %v", held, err)
	}
	if err := from("agent", "CCC"); err != nil {
		t.Error(err)
	}
	within(t, 5*time.Second, "both turns are told", func() bool {
		told := strings.Join(k.board.on("pty.1"), "")
		return strings.Contains(told, `{"keyboard":"uid:1"}`) && strings.Contains(told, `{"keyboard":null}`)
	})
	// A lease ends by itself.
	h, _ := k.reg.Adopt(opened.PTY)
	if _, err := hold("person", 1); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.held.until = time.Now()
	h.mu.Unlock()
	if err := from("agent", "DDD"); err != nil {
		t.Errorf("after the lease: %v", err)
	}
}

// The mouse reaches a program that asked for it, in its form; others refuse.
func TestMouse(t *testing.T) {
	r := newRegistry(t, Config{})
	h := start(t, r, "python3", "-c", readLogger, `\x1b[?1000;1006h`)
	if s := until(t, h, text("ready")); !s.Mouse {
		t.Error("the screen does not say that the program takes the mouse")
	}
	click := map[string]any{"mouse": map[string]any{"row": 2, "col": 9}}
	send(t, h, nil, click)
	until(t, h, text(`b'\x1b[<0;10;3M\x1b[<0;10;3m'`))
	for name, tt := range map[string]struct{ input, want string }{
		"outside": {`["x",{"mouse":{"row":24,"col":0}}]`, "input[1].mouse: cell 24,0 is outside the screen of 24 rows"},
		"motion":  {`{"mouse":{"row":0,"col":0,"action":"move"}}`, "not for its motion"},
		"button":  {`{"mouse":{"row":0,"col":0,"button":"thumb"}}`, "want left"},
		"member":  {`{"mouse":{"row":0,"col":0,"x":1}}`, "unknown field"},
		"no cell": {`{"mouse":{"row":0}}`, "row and col are needed"},
	} {
		_, bad := h.Send(context.Background(), messages.SendPTY{PTY: h.id, Input: json.RawMessage(tt.input)})
		if bad == nil || bad.Code != messages.CodeInvalidParams || !strings.Contains(bad.Message, tt.want) {
			t.Errorf("%s: got %v, want %q", name, bad, tt.want)
		}
	}
	if strings.Contains(strings.Join(h.Snapshot().Lines, ""), "b'x'") {
		t.Error("part of a refused input was sent")
	}
	cat := start(t, r, "cat")
	_, bad := cat.Send(context.Background(), messages.SendPTY{PTY: cat.id, Input: messages.JSON(click)})
	if bad == nil || !strings.Contains(bad.Message, "has not asked for the mouse") {
		t.Errorf("cat: got %v", bad)
	}
}
