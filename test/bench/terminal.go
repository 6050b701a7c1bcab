package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"shoal.dev/shoal/ptyactor/screen"
)

const (
	drawn         = 4 << 20   // bytes of each data set
	drawnPiece    = 4 << 10   // of one write, as the host feeds its screens
	screenMost    = 512 << 10 // heap of an 80x24 terminal with 1,000 lines of scrollback
	manyScreens   = 500
	manyMost      = 100 << 20
	readMost      = 100e-6 // seconds of a read at 200x50
	headlessJS    = "test/terminal/testdata/headless.js"
	sessionsDir   = "../shared/terminal"
	terminalCols  = 80
	terminalRows  = 24
	terminalLines = 1000
)

// output is a data set of a program's output.
type output struct {
	key, what string
	bytes     func() ([]byte, error)
}

// outputs are what terminals draw.
func outputs() []output {
	return []output{
		{"seq", "`seq`", repeated(func(i int) string { return fmt.Sprintf("%d\r\n", i) })},
		{"text", "lines of text", repeated(func(i int) string {
			return fmt.Sprintf("%6d the quick brown fox jumps over the lazy dog and runs through the wood\r\n", i)
		})},
		{"colour", "coloured words", repeated(func(i int) string {
			return fmt.Sprintf("\x1b[1;3%dmword\x1b[0m \x1b[38;5;%dmanother\x1b[m plain\r\n", i%8, i%256)
		})},
		{"cjk", "Chinese text", repeated(func(i int) string { return "世界你好天地玄黄宇宙洪荒" })},
		{"vim", "a recorded vim session", recorded("vim-syntax.raw.gz")},
		{"htop", "a recorded htop session", recorded("htop.raw.gz")},
	}
}

// repeated makes numbered pieces until there is enough.
func repeated(piece func(i int) string) func() ([]byte, error) {
	return func() ([]byte, error) {
		var b []byte
		for i := 1; len(b) < drawn; i++ {
			b = append(b, piece(i)...)
		}
		return b, nil
	}
}

// recorded repeats a session of the shared data sets.
func recorded(name string) func() ([]byte, error) {
	return func() ([]byte, error) {
		dir := os.Getenv("SHOAL_TERMINAL_DIR")
		if dir == "" {
			dir = sessionsDir
		}
		f, err := os.Open(filepath.Join(dir, "sessions", name))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errAbsent, err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, err
		}
		one, err := io.ReadAll(z)
		return bytes.Repeat(one, 1+drawn/max(len(one), 1)), err
	}
}

// screenRows measure the screens of terminals.
func (b *bench) screenRows() []row {
	var rows []row
	for _, o := range outputs() {
		rows = append(rows, row{
			key: "screen." + o.key, what: "draw 4 MB of " + o.what, unit: millis, most: 0.5,
			ours: drawOurs(o), rivals: []rival{
				{name: "headless xterm", cost: func() (float64, error) { return b.drawHeadless(o) }},
			},
		})
	}
	return append(rows,
		row{key: "screen.read", what: "change and read a full 200x50 screen", unit: micros, ours: readScreen, most: readMost},
		row{key: "screen.heap", what: "heap of an 80x24 terminal with 1,000 lines of scrollback", unit: mebi, ours: screenHeap(50, terminalLines+terminalRows), most: screenMost},
		row{key: "screen.heap.500", what: "heap of 500 terminals", unit: mebi, most: manyMost,
			ours: func() (float64, error) {
				each, err := screenHeap(manyScreens, terminalRows)()
				return each * manyScreens, err
			}},
	)
}

func drawOurs(o output) probe {
	return func() (float64, error) {
		data, err := o.bytes()
		if err != nil {
			return 0, err
		}
		s := screen.New(terminalCols, terminalRows, terminalLines)
		start := time.Now()
		for len(data) > 0 {
			n := min(drawnPiece, len(data))
			s.Write(data[:n])
			s.Replies()
			data = data[n:]
		}
		s.Snapshot()
		return time.Since(start).Seconds(), nil
	}
}

func readScreen() (float64, error) {
	s := screen.New(200, 50, terminalLines)
	var took []float64
	for i := range 200 {
		s.Write(fmt.Appendf(nil, "\x1b[H%d %s", i, strings.Repeat("some words and more ", 499)))
		start := time.Now()
		s.Snapshot()
		took = append(took, time.Since(start).Seconds())
	}
	return middle(took), nil
}

// screenHeap is the live bytes of one of n terminals that have shown lines.
func screenHeap(n, lines int) probe {
	return func() (float64, error) {
		heap := func() float64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return float64(m.HeapAlloc)
		}
		before := heap()
		all := make([]screen.Screen, n)
		for i := range all {
			all[i] = screen.New(terminalCols, terminalRows, terminalLines)
			for line := range lines {
				all[i].Write(fmt.Appendf(nil, "\x1b[32m%d\x1b[m %s\r\n", line, strings.Repeat("\x1b[1mword\x1b[m text ", 8)))
			}
			all[i].Snapshot()
		}
		each := (heap() - before) / float64(n)
		runtime.KeepAlive(all)
		return each, nil
	}
}

// dataFile writes a data set for another program.
func (b *bench) dataFile(o output) (string, error) {
	name := filepath.Join(b.root, "output-"+o.key)
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	data, err := o.bytes()
	if err != nil {
		return "", err
	}
	return name, os.WriteFile(name, data, 0o600)
}

// drawHeadless is the seconds that xterm takes in its headless form.
func (b *bench) drawHeadless(o output) (float64, error) {
	data, err := b.dataFile(o)
	if err != nil {
		return 0, err
	}
	dir := filepath.Join(b.root, "xterm")
	if _, err := os.Stat(dir); err != nil {
		if err := b.installNPM(dir, "@xterm/headless", "@xterm/addon-unicode11"); err != nil {
			return 0, fmt.Errorf("%w: %w", errAbsent, err)
		}
	}
	ask, err := json.Marshal(map[string]any{"cols": terminalCols, "rows": terminalRows, "bench": data})
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(b.ctx, "node", headlessJS, dir)
	cmd.Stdin = bytes.NewReader(append(ask, '\n'))
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("headless xterm: %w", err)
	}
	var answer struct{ Seconds float64 }
	err = json.Unmarshal(out, &answer)
	return answer.Seconds, err
}
