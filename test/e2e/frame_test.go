package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

const (
	attachLine = `{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"session":"frames"}}`
	frameMost  = 16 << 20 // bytes of a line
)

// ids are request ids of every JSON type, spelled in ways that decoding and
// encoding would change.
var ids = []string{
	`"s"`, `""`, `"7"`, `"\u00e9\/\ud83d\ude00\u0000"`, `"é "`,
	`0`, `-0`, `7`, `-7`, `9007199254740993`, `-9223372036854775809`, `123456789012345678901234567890`,
	`1.0`, `1.50`, `-2.50E-3`, `1e400`,
	`null`, `true`, `false`,
	`{}`, `{"b": 1, "a": [1.0, {"b": null}], "b": 2}`, `[]`, `[ 1, "2", [] ]`,
}

// padded is a frame of exactly n bytes.
func padded(frame string, n int) string {
	return frame[:len(frame)-1] + strings.Repeat(" ", n-len(frame)) + "}"
}

// attachedLines is a bare connection that has attached.
func attachedLines(w *kit.World) *kit.Lines {
	w.T.Helper()
	l := w.Lines()
	if got := l.Ask(attachLine); got.At("result", "session").Str() != "frames" {
		w.T.Fatalf("attach: got %v", got)
	}
	return l
}

// An id comes back byte for byte, with results and with errors.
func TestIDsOfEveryType(t *testing.T) {
	w, r := served(t)
	l, f := attachedLines(w), w.Facade("main")
	for _, id := range ids {
		for method, member := range map[string]string{"kernel.info": "result", "no.such": "error"} {
			if err := l.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"id":%s}`, method, id)); err != nil {
				t.Fatal(err)
			}
			if got, err := l.NextLine(); err != nil || !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"`+member+`":`) {
				t.Errorf("socket, id %s, %s: got %.200s %v", id, method, got, err)
			}
		}
		for frame, member := range map[string]string{
			`"method":"ping"`: "result", `"method":"no/such"`: "error",
			`"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"1 + 1"}}`: "result",
		} {
			open := f.Expect(id)
			f.Line(`{"jsonrpc":"2.0",` + frame + `,"id":` + id + `}`)
			if got := open.Wait().Line; !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"`+member+`":`) {
				t.Errorf("stdio, id %s, %s: got %.200s", id, frame, got)
			}
		}
	}
	if strays := f.Strays(); len(strays) > 0 {
		t.Errorf("nobody asked for %s", strays)
	}
	if got := r.Render("1 + 1"); got != "2" {
		t.Errorf("another client: got %s", got)
	}
}

// Two calls in flight under one id are two calls: both are answered, each with
// its own result, and both are cancelled together.
func TestDuplicateIDs(t *testing.T) {
	w, r := served(t)
	l, f := attachedLines(w), w.Facade("main")
	for _, src := range []string{"sleep 100ms; 1", "2"} {
		if err := l.Send(`{"jsonrpc":"2.0","id":"dup","method":"exec","params":{"position":"value","src":"` + src + `"}}`); err != nil {
			t.Fatal(err)
		}
	}
	var sum int64 // answers come as they are ready
	for range 2 {
		got, err := l.Next()
		if err != nil || got.At("id").Str() != "dup" {
			t.Errorf("socket: got %v %v", got, err)
		}
		sum += got.At("result", "value", "v").Int()
	}
	if sum != 1+2 {
		t.Errorf("socket: the results make %d", sum)
	}
	call := func(id, src string) {
		f.Line(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"` + src + `"}}}`)
	}
	call(`"dup"`, "sleep 100ms; 1")
	call(`"dup"`, "2")
	kit.Eventually(t, quick, "both are answered", func() bool { return len(f.Strays()) == 2 })
	sum = 0
	for _, line := range f.Strays() {
		got := kit.Parse([]byte(line))
		if got.At("id").Str() != "dup" {
			t.Errorf("stdio: got %s", line)
		}
		sum += got.At("result", "structuredContent", "value", "v").Int()
	}
	if sum != 1+2 {
		t.Errorf("stdio: the results make %d", sum)
	}
	call(`"both"`, "sleep 600s")
	call(`"both"`, "sleep 601s")
	live := func() []kit.Val { return r.Must("task.list", kit.Args{"live": true}).At("tasks").List() }
	kit.Eventually(t, quick, "both are taken", func() bool { return len(live()) == 2 })
	f.Line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"both"}}`)
	for _, task := range live() {
		f.MustTool("shoal_cancel", kit.Args{"task": task.At("task").Str()})
		f.AwaitEnd(task.At("task").Str())
	}
	if strays := f.Strays(); len(strays) != 2 {
		t.Errorf("cancelled calls were answered: %s", strays[2:])
	}
	if got := r.Render("1 + 1"); got != "2" {
		t.Errorf("another client: got %s", got)
	}
}

// A line of 16 MiB is read, before the attachment and after; a byte more ends the
// connection of a raw client and costs the client of a facade that line alone.
func TestLinesAtTheLimit(t *testing.T) {
	w, r := served(t)
	f := w.Facade("main")
	for _, n := range []int{frameMost - 1, frameMost, frameMost + 1} {
		for name, line := range map[string]string{
			"attachment": padded(attachLine, n), "call": padded(`{"jsonrpc":"2.0","id":[9],"method":"kernel.info"}`, n),
		} {
			l := w.Lines()
			if name == "call" {
				l = attachedLines(w)
			}
			err := l.Send(line)
			if err != nil && n <= frameMost {
				t.Fatalf("%s of %d bytes: %v", name, n, err)
			}
			got, err := l.Next()
			switch {
			case n <= frameMost && (err != nil || got.At("result").IsNull()):
				t.Errorf("%s of %d bytes: got %v %v", name, n, got, err)
			case n > frameMost && (err != nil || got.At("error", "code").Int() != int64(messages.CodeInvalidRequest) || !got.Has("id") || !got.At("id").IsNull()):
				t.Errorf("%s of %d bytes: got %v %v, want -32600 with id null", name, n, got, err)
			}
			if n > frameMost {
				if v, err := l.Next(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%s of %d bytes: then %v %v, want the end", name, n, v, err)
				}
			}
			l.Close()
		}
		open := f.Expect("[9]")
		f.Line(padded(`{"jsonrpc":"2.0","id":[9],"method":"ping"}`, n))
		want := int64(-1 << 63)
		if n > frameMost {
			want = int64(messages.CodeInvalidRequest)
		}
		if got := open.Wait(); got.Error.At("code").Int() != want {
			t.Errorf("stdio, %d bytes: got %.200s, want %d", n, got.Line, want)
		}
		if got := strings.TrimSpace(f.Exec("1 + 1").Text); got != "2" {
			t.Errorf("stdio, after %d bytes: got %s", n, got)
		}
		if got := r.Render("1 + 1"); got != "2" {
			t.Errorf("another client, after %d bytes: got %s", n, got)
		}
	}
}
