package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"
)

// maxPickRows is how many lines of the terminal a choice may take.
const maxPickRows = 20

// picker is a choice among lines: what the person has typed to find some of
// them, where the mark stands, and which are chosen.
type picker struct {
	prompt string
	lines  []string
	multi  bool

	find   []rune
	shown  []int // indices of the lines that hold what was typed
	at     int   // the mark, an index of shown
	top    int   // the first of shown that is on the screen
	height int   // how many of shown fit there; set by draw
	chosen map[int]bool
}

// verdict is what became of a choice.
type verdict uint8

const (
	undecided verdict = iota
	taken
	givenUp
)

func newPicker(prompt string, lines []string, multi bool) *picker {
	p := &picker{prompt: prompt, lines: lines, multi: multi, height: 1, chosen: map[int]bool{}}
	p.search()
	return p
}

// search finds the lines that hold every word that was typed; case matters only
// where a capital was typed.
func (p *picker) search() {
	words := strings.Fields(string(p.find))
	p.shown, p.at, p.top = p.shown[:0], 0, 0
	for i, line := range p.lines {
		lower := ""
		if slices.ContainsFunc(words, func(word string) bool {
			if strings.IndexFunc(word, unicode.IsUpper) >= 0 {
				return !strings.Contains(line, word)
			}
			if lower == "" {
				lower = strings.ToLower(line)
			}
			return !strings.Contains(lower, word)
		}) {
			continue
		}
		p.shown = append(p.shown, i)
	}
}

// The keys that are not text.
const (
	ctrlC = 0x03
	ctrlD = 0x04
	ctrlG = 0x07
	ctrlH = 0x08
	ctrlJ = 0x0a
	ctrlN = 0x0e
	ctrlP = 0x10
	ctrlU = 0x15
	esc   = 0x1b
	del   = 0x7f
)

// typed takes what was typed in one go.
func (p *picker) typed(b []byte) verdict {
	for len(b) > 0 {
		if b[0] == esc {
			key, n := escape(b)
			if n == 1 {
				return givenUp
			}
			p.move(key)
			b = b[n:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		if v := p.key(r); v != undecided {
			return v
		}
		b = b[n:]
	}
	return undecided
}

func (p *picker) key(r rune) verdict {
	switch r {
	case ctrlC, ctrlG:
		return givenUp
	case ctrlD:
		if len(p.find) == 0 {
			return givenUp
		}
	case '\r', ctrlJ:
		if p.multi || len(p.shown) > 0 {
			return taken
		}
	case '\t':
		p.toggle()
	case ctrlN:
		p.move("B")
	case ctrlP:
		p.move("A")
	case ctrlU:
		p.find = nil
		p.search()
	case ctrlH, del:
		if len(p.find) > 0 {
			p.find = p.find[:len(p.find)-1]
			p.search()
		}
	default:
		if unicode.IsPrint(r) && r != utf8.RuneError {
			p.find = append(p.find, r)
			p.search()
		}
	}
	return undecided
}

// escape is a key that comes as a sequence, and how many bytes that has: 1 for
// the Escape key by itself.
func escape(b []byte) (key string, n int) {
	if len(b) < 2 || b[1] != '[' && b[1] != 'O' {
		return "", 1
	}
	for n = 2; n < len(b); n++ {
		if b[n] >= 0x40 && b[n] <= 0x7e {
			return string(b[2 : n+1]), n + 1
		}
	}
	return "", n
}

func (p *picker) move(key string) {
	last := max(0, len(p.shown)-1)
	switch key {
	case "A":
		p.at = max(0, p.at-1)
	case "B":
		p.at = min(last, p.at+1)
	case "5~":
		p.at = max(0, p.at-p.height)
	case "6~":
		p.at = min(last, p.at+p.height)
	case "H", "1~":
		p.at = 0
	case "F", "4~":
		p.at = last
	}
}

// toggle chooses the marked line, or no longer, and goes on to the next.
func (p *picker) toggle() {
	if !p.multi || len(p.shown) == 0 {
		return
	}
	line := p.shown[p.at]
	if p.chosen[line] {
		delete(p.chosen, line)
	} else {
		p.chosen[line] = true
	}
	p.move("B")
}

// result are the chosen lines in their order: with multi those that were
// toggled, else, and when none was, the marked one.
func (p *picker) result() []int {
	if len(p.chosen) == 0 {
		if len(p.shown) == 0 {
			return nil
		}
		return []int{p.shown[p.at]}
	}
	var out []int
	for i := range p.lines {
		if p.chosen[i] {
			out = append(out, i)
		}
	}
	return out
}

// draw is the control sequences that show the choice from the cursor's line on
// and put the cursor behind what was typed.
func (p *picker) draw(rows, cols int) string {
	p.height = max(1, min(rows, maxPickRows)-2)
	p.top = max(min(p.top, p.at), p.at-p.height+1, 0)
	head := runewidth.Truncate(visible(p.prompt+string(p.find)), max(1, cols-1), "")
	var b strings.Builder
	fmt.Fprintf(&b, "\r\x1b[J%s", head)
	end := min(len(p.shown), p.top+p.height)
	for i := p.top; i < end; i++ {
		mark := "  "
		if p.chosen[p.shown[i]] {
			mark = "* "
		}
		text := runewidth.Truncate(mark+visible(p.lines[p.shown[i]]), max(1, cols-1), "…")
		if i == p.at {
			text = "\x1b[7m" + text + "\x1b[0m"
		}
		b.WriteString("\r\n" + text)
	}
	fmt.Fprintf(&b, "\r\n\x1b[2m%s\x1b[0m", runewidth.Truncate(p.status(), max(1, cols-1), ""))
	fmt.Fprintf(&b, "\x1b[%dA\r", end-p.top+1)
	if w := runewidth.StringWidth(head); w > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", w)
	}
	return b.String()
}

func (p *picker) status() string {
	text := fmt.Sprintf("%d of %d", len(p.shown), len(p.lines))
	if p.multi {
		return text + fmt.Sprintf(", %d chosen: Tab chooses, Enter takes, Esc gives up", len(p.chosen))
	}
	return text + ": type to find, Enter takes, Esc gives up"
}

// visible is text on one line without anything that a terminal would obey.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '␤'
		case r == '\t':
			return ' '
		case unicode.IsControl(r), r == utf8.RuneError:
			return '·'
		}
		return r
	}, s)
}

// pickOn asks on a terminal in raw mode until the person has decided.
func pickOn(ctx context.Context, tty *os.File, p *picker) ([]int, bool, error) {
	stop := context.AfterFunc(ctx, func() { tty.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	done := make(chan struct{})
	defer close(done)
	defer signal.Stop(resized)
	go wakeReader(ctx, tty, resized, done)
	defer io.WriteString(tty, "\r\x1b[J")
	buf := make([]byte, 4096)
	for {
		rows, cols := size(tty)
		if _, err := io.WriteString(tty, p.draw(rows, cols)); err != nil {
			return nil, false, fmt.Errorf("draw the choice: %w", err)
		}
		n, err := readTyped(tty, buf)
		switch p.typed(buf[:n]) {
		case taken:
			return p.result(), true, nil
		case givenUp:
			return nil, false, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, false, context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded): // a new size
		case errors.Is(err, io.EOF):
			return nil, false, nil
		case err != nil:
			return nil, false, fmt.Errorf("read the choice: %w", err)
		}
	}
}

// escapeTime is how long the rest of a key's sequence may take: what comes later
// makes it the Escape key.
const escapeTime = 50 * time.Millisecond

// readTyped reads what was typed, whole keys if they come in time. It lifts the
// deadline that has woken it; whoever sets one has given a reason before.
func readTyped(tty *os.File, buf []byte) (int, error) {
	defer tty.SetReadDeadline(time.Time{})
	n, err := tty.Read(buf)
	for err == nil && n < len(buf) && cutOff(buf[:n]) {
		tty.SetReadDeadline(time.Now().Add(escapeTime))
		more, err := tty.Read(buf[n:])
		if n += more; err != nil {
			break
		}
	}
	return n, err
}

// cutOff reports whether b ends within a key.
func cutOff(b []byte) bool {
	if i := bytes.LastIndexByte(b, esc); i >= 0 {
		_, n := escape(b[i:])
		return i+n == len(b) && (n < 3 || b[len(b)-1] < 0x40)
	}
	r, _ := utf8.DecodeLastRune(b)
	return r == utf8.RuneError && !utf8.FullRune(b[lastStart(b):])
}

// lastStart is where the last character of b begins.
func lastStart(b []byte) int {
	i := len(b) - 1
	for i > 0 && len(b)-i < utf8.UTFMax && !utf8.RuneStart(b[i]) {
		i--
	}
	return i
}

// wakeReader makes a read of the terminal return when its size has changed.
func wakeReader(ctx context.Context, tty *os.File, resized <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case <-resized:
			tty.SetReadDeadline(time.Unix(1, 0))
		case <-ctx.Done():
			return
		case <-done:
			return
		}
	}
}

// size is that of a terminal, or what terminals had first.
func size(tty *os.File) (rows, cols int) {
	rows, cols = 24, 80
	withFD(tty, func(fd int) error {
		ws, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
		if err == nil && ws.Row > 0 && ws.Col > 0 {
			rows, cols = int(ws.Row), int(ws.Col)
		}
		return err
	})
	return rows, cols
}
