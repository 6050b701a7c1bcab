package ptyactor

import (
	"regexp"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// shot is what a screen shows after a program has written.
func shot(s screen.Screen, text string) *screen.Snapshot {
	s.Write([]byte(text))
	return s.Snapshot()
}

// waits is a waiter for a text and one for a pattern.
func waits(text, pattern string, sent *sentInput) (byText, byRegex *waiter) {
	return &waiter{cond: messages.PTYWait{Text: &text}, sent: sent}, &waiter{regex: regexp.MustCompile(pattern), sent: sent}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name, before, typed, after string
		text, pattern              string
		want                       bool
	}{
		{"news", "old\r\n", "", "new", "new", `^new$|(?m)^new$`, true},
		{"what was there", "old\r\n", "", "new", "old", `old`, false},
		{"the echo", "$ ", "echo word", "echo word", "word", `\bword\b`, false},
		{"after the echo", "$ ", "echo word", "echo word\r\nword", "word", `(?m)^word$`, true},
		{"the echo without its blanks", "", "  a  b", "ab", "ab", `ab`, false},
		{"an echo with its blanks", "", "  a  b", "  a  b", "a  b", `a +b`, false},
		{"half of it is the echo", "", "ab", "abc", "abc", `abc`, true},
		{"the third of the same", "y y ", "", "y", "y", `y`, true},
		{"overlapping", "aa", "", "ab", "aab", `a+b`, true},
		{"over a soft wrap", "", "", strings.Repeat("-", 19) + "word", "word", `-word`, true},
		{"wide", "世", "界", "界人", "界", `界`, false},
		{"nothing", "", "", "x", "", `$`, false},
	} {
		s := screen.New(20, 5, 0)
		sent := &sentInput{shot: shot(s, test.before), echo: []rune(test.typed)}
		now := shot(s, test.after)
		byText, byRegex := waits(test.text, test.pattern, sent)
		if got := byText.shows(now, byText.eachText); got != test.want {
			t.Errorf("%s: text %q counts: %v", test.name, test.text, got)
		}
		if got := byRegex.shows(now, byRegex.eachRegex); got != test.want {
			t.Errorf("%s: pattern %q counts: %v", test.name, test.pattern, got)
		}
		byText, byRegex = waits(test.text, test.pattern, nil)
		if !byText.shows(now, byText.eachText) || !byRegex.shows(now, byRegex.eachRegex) {
			t.Errorf("%s: without a send not everything counts", test.name)
		}
	}
}

// A screen full of what matches and does not count, and an echo of blanks, are
// gone through once, not once for each match.
func TestManyMatches(t *testing.T) {
	s := screen.New(screen.MaxSide, screen.MaxSide, 0)
	full := shot(s, strings.Repeat("y", screen.MaxSide*screen.MaxSide))
	byText, byRegex := waits("y", "y", &sentInput{shot: full, echo: []rune(strings.Repeat(" ", 1<<20) + "x")})
	if byText.shows(full, byText.eachText) || byRegex.shows(full, byRegex.eachRegex) {
		t.Error("what was there before counts")
	}
	byText.sent.shot, byRegex.sent.shot = screen.New(1, 1, 0).Snapshot(), screen.New(1, 1, 0).Snapshot()
	if !byText.shows(full, byText.eachText) || !byRegex.shows(full, byRegex.eachRegex) {
		t.Error("news does not count")
	}
}

// Nobody has to wait while a great screen is searched.
func TestSearchesLockNothing(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "cat")
	h.mu.Lock()
	h.screen.Resize(screen.MaxSide, screen.MaxSide)
	h.screen.Write([]byte(strings.Repeat("y", screen.MaxSide*screen.MaxSide)))
	wait, bad := h.newWaiterLocked(regex("y?y?z"), nil)
	if bad != nil {
		t.Fatal(bad)
	}
	h.addLocked(wait)
	h.mu.Unlock()
	over := make(chan struct{})
	go func() {
		h.check(wait)
		close(over)
	}()
	free, held := 0, 0
	for {
		select {
		case <-over:
			if free < held {
				t.Errorf("the terminal was locked at %d looks of %d", held, free+held)
			}
			return
		default:
			if h.mu.TryLock() {
				free++
				h.mu.Unlock()
			} else {
				held++
			}
		}
	}
}
