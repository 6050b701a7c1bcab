package e2e

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/test/kit"
)

// A flood of output neither fills the kernel's memory nor outlives its
// cancellation.
func TestB25Flood(t *testing.T) {
	w, r := served(t)
	r.Exec("sh { seq 1 1000 }") // what a kernel needs anyway
	pid := w.KernelPID()
	before := kit.Resident(pid)
	got := r.Exec("sh { yes }", kit.Args{"timeout_ms": 2000})
	task := got.At("task").Str()
	if task == "" || !got.At("timed_out").Bool() {
		t.Fatalf("got %v, want a task and timed_out", got)
	}
	var peak int64
	kit.Eventually(t, quick, "more than 64 MiB of output", func() bool {
		peak = max(peak, kit.Resident(pid))
		return r.Task(task).At("stdout_len").Int() > 64<<20
	})
	began := time.Now()
	r.Must("task.cancel", kit.Args{"task": task})
	rec := r.Await(task)
	soon(t, began, quick)
	peak = max(peak, kit.Resident(pid))
	if grown := peak - before; grown > 64<<20 && !kit.Raced() {
		t.Errorf("resident memory grew by %d MiB, want less than 64", grown>>20)
	}
	if rec.At("state").Str() != "cancelled" || rec.At("stdout_kept").Int() <= 0 || rec.At("stdout_len").Int() < rec.At("stdout_kept").Int() {
		t.Errorf("got %v, want cancelled with bytes seen and kept", rec)
	}
	if sleeping(w, "yes") {
		t.Error("yes still runs")
	}
}

// A cut text says how much is missing: lines shown and the marker's number
// make the whole.
func TestB27MarkerCounts(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	a := f.Exec("sh { seq 1 5000; echo ANSWER=42 }", kit.Args{"elide": kit.Args{"max_bytes": 2048}})
	lines := strings.Split(strings.TrimRight(a.Text, "\n"), "\n")
	marker := regexp.MustCompile(`^…\((\d+) more lines, fetch via (shoal://out/\d+)\)$`).FindStringSubmatch(lines[len(lines)-1])
	if marker == nil {
		t.Fatalf("last line: got %q, want the marker", lines[len(lines)-1])
	}
	missing, _ := strconv.Atoi(marker[1])
	shown := 0
	for _, line := range lines[:len(lines)-1] {
		if line != "…" {
			shown++
		}
	}
	if shown+missing != 5001 {
		t.Errorf("shown %d + missing %d: got %d, want 5001", shown, missing, shown+missing)
	}
	if n := len(a.Text) - len(marker[0]) - 1; n > 2048 {
		t.Errorf("text before the marker: got %d bytes, want at most 2048", n)
	}
	if !a.Structured.At("truncated").Bool() || marker[2] != a.Link {
		t.Errorf("got truncated %v, marker %s, link %s", a.Structured.At("truncated"), marker[2], a.Link)
	}
	if !strings.Contains(a.Text, "ANSWER=42") {
		t.Error("the last line of captured output is not shown")
	}
}

// What fits under the cap is shown whole.
func TestB29UnderTheCap(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	a := f.Exec("sh { i=0; while [ $i -lt 200 ]; do i=$((i+1)); printf '%207d\\n' $i; done }")
	lines := strings.Split(strings.TrimRight(a.Text, "\n"), "\n")
	if len(lines) != 200 || a.Structured.At("truncated").Bool() || !strings.HasSuffix(lines[199], " 200") {
		t.Errorf("got %d lines, truncated %v, want all 200", len(lines), a.Structured.At("truncated"))
	}
}

// Progress frames are resolved in the text; the raw bytes stay behind the ref.
func TestB30ProgressFrames(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	for _, tc := range []struct {
		name, src string
		bytes     int
	}{
		{"carriage returns", `sh { i=0; while [ $i -lt 200 ]; do printf '0%%\r50%%\r100%%\r'; i=$((i+1)); done; printf '100%%\n' }`, 200*12 + 5},
		{"erase line", `sh { i=0; while [ $i -lt 200 ]; do printf '\033[2K\r%d%%' $((i/2)); i=$((i+1)); done; printf '\033[2K\r100%%\n' }`, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := f.Exec(tc.src)
			if got := strings.TrimRight(a.Text, "\n"); got != "100%" {
				t.Errorf("text: got %q, want 100%%", got)
			}
			raw := f.ReadText(a.Link + "?path=.stdout&format=raw")
			if tc.bytes > 0 && len(raw) != tc.bytes || !strings.Contains(raw, "\r") {
				t.Errorf("raw: got %d bytes, want every one (%d)", len(raw), tc.bytes)
			}
		})
	}
}

// A character that is written in two parts arrives whole, in the value and in
// every chunk that is read while it comes.
func TestB32SplitCharacter(t *testing.T) {
	_, r := served(t)
	src := fmt.Sprintf(`^%s -c "import os,time;os.write(1,b'a \\xe2');time.sleep(.3);os.write(1,b'\\x80\\x94 b')"`, python(t))
	task := r.Background(src)
	var streamed strings.Builder
	next := int64(0)
	kit.Eventually(t, quick, "the end of the output", func() bool {
		out := r.Must("task.output", kit.Args{"task": task, "stream": "stdout", "offset": next})
		if out.Has("data_base64") {
			t.Errorf("chunk: got %v, want text", out)
			return true
		}
		streamed.WriteString(out.At("data").Str())
		next = out.At("next").Int()
		return out.At("eof").Bool()
	})
	if got := streamed.String(); got != "a — b" {
		t.Errorf("streamed: got %q, want %q", got, "a — b")
	}
	v := r.Must("value.get", kit.Args{"ref": task, "path": ".out"})
	if got := text(v.At("value")); got != "a — b" {
		t.Errorf("value: got %q, want %q", got, "a — b")
	}
}

// Output that is no text is bytes, untouched.
func TestB34NotUTF8(t *testing.T) {
	_, r := served(t)
	ref := r.Exec(`sh { printf '\377\376ok' }`).At("ref").Str()
	v := r.Must("value.get", kit.Args{"ref": ref, "path": ".out"}).At("value")
	if v.At("$").Str() != "bytes" || v.At("v").Str() != "//5vaw==" || v.Has("text") {
		t.Errorf("got %v, want the bytes //5vaw==", v)
	}
	raw := r.Must("value.get", kit.Args{"ref": ref, "path": ".out", "format": "raw"})
	data, err := base64.StdEncoding.DecodeString(raw.At("raw_base64").Str())
	if err != nil || string(data) != "\xff\xfeok" {
		t.Errorf("raw: got %v, want the same four bytes", raw)
	}
}
