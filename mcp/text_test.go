package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
)

const anyURI = "shoal://out/17"

func numbered(from, to int) string {
	var lines []string
	for i := from; i <= to; i++ {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	return strings.Join(lines, "\n")
}

func TestTextOrder(t *testing.T) {
	for _, test := range []struct {
		name string
		in   transcript
		want string
	}{
		{"render alone is not touched", transcript{render: "a\n", uri: anyURI}, "a\n"},
		{"nothing", transcript{uri: anyURI}, ""},
		{"parts", transcript{
			printed: []messages.Printed{{Ref: "out:1", Render: "one"}, {Render: "two\n"}}, total: 2, render: "three", uri: anyURI,
			notes: []messages.Note{{Code: "left_running", Msg: "pid 7\nholds the pipe"}},
		}, "one\ntwo\nthree\nnote left_running: pid 7 holds the pipe"},
		{"values that were not kept", transcript{
			printed: []messages.Printed{{Render: "one"}}, total: 4, render: "r", uri: anyURI,
		}, "one\n…(3 more printed values)\nr"},
		{"the kernel's marker stays last", transcript{
			render: "a\nb\n…(8 more lines, fetch via " + anyURI + ")", uri: anyURI, notes: []messages.Note{{Code: "c", Msg: "m"}},
		}, "a\nb\nnote c: m\n…(8 more lines, fetch via " + anyURI + ")"},
		{"a cut line", transcript{render: "aaa\n…(0 more lines, fetch via " + anyURI + ")", uri: anyURI},
			"aaa\n…(0 more lines, fetch via " + anyURI + ")"},
		{"somebody else's marker is a line", transcript{
			render: "…(8 more lines, fetch via shoal://out/3)", uri: anyURI,
		}, "…(8 more lines, fetch via shoal://out/3)"},
	} {
		if test.in.total == 0 {
			test.in.total = len(test.in.printed)
		}
		if got := test.in.text(messages.HardCap); got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

var markerPattern = regexp.MustCompile(`^…\((\d+) more lines, fetch via (\S+)\)$`)

// TestTextMarker holds the marker to the lines that are really shown, whoever
// left them out.
func TestTextMarker(t *testing.T) {
	const total = 20000
	for _, captured := range []bool{false, true} {
		for _, kernelHides := range []int{0, 832} {
			for _, printed := range []int{0, 30 << 10} {
				in := transcript{uri: anyURI, captured: captured, render: numbered(1, total-kernelHides)}
				if kernelHides > 0 {
					in.render += "\n" + markerLine(kernelHides, anyURI)
				}
				if printed > 0 {
					in.printed = []messages.Printed{{Ref: "out:16", Render: strings.Repeat("p", printed)}}
					in.total = 1
				}
				in.notes = []messages.Note{{Code: "n", Msg: "note"}}
				for _, limit := range []int{1, 50, 2048, messages.HardCap} {
					checkMarker(t, in, limit, total)
				}
			}
		}
	}
}

func checkMarker(t *testing.T, in transcript, limit, total int) {
	t.Helper()
	name := fmt.Sprintf("captured %v, printed %d, limit %d", in.captured, len(in.printed), limit)
	got := in.text(limit)
	lines := strings.Split(got, "\n")
	m := markerPattern.FindStringSubmatch(lines[len(lines)-1])
	if m == nil || m[2] != in.uri {
		t.Errorf("%s: the last line is no marker: %q", name, lines[len(lines)-1])
		return
	}
	hidden, _ := strconv.Atoi(m[1])
	shown := 0
	for _, line := range lines {
		if strings.HasPrefix(line, "line") || limit < 8 && strings.HasPrefix("line", line) && line != "" {
			shown++
		}
	}
	if shown+hidden != total {
		t.Errorf("%s: %d lines shown and %d counted as hidden, of %d", name, shown, hidden, total)
	}
	if len(got) > messages.HardCap {
		t.Errorf("%s: %d bytes of text", name, len(got))
	}
	if room := len(got) - len(lines[len(lines)-1]) - 1; room > limit+64 && limit < messages.HardCap {
		t.Errorf("%s: %d bytes before the marker", name, room)
	}
	if in.captured && limit > 1024 && !strings.Contains(got, "\n"+gap+"\nline") {
		t.Errorf("%s: the end of captured output is not shown", name)
	}
}

func TestTextLongLine(t *testing.T) {
	in := transcript{render: strings.Repeat("é", messages.HardCap), uri: anyURI}
	got := in.text(messages.HardCap)
	if !utf8.ValidString(got) || len(got) > messages.HardCap || !strings.HasSuffix(got, "\n"+markerLine(0, anyURI)) {
		t.Errorf("%d bytes, valid %v, end %q", len(got), utf8.ValidString(got), got[len(got)-60:])
	}
}

// TestTextKeepsNotes: what no other part says is said, however long the rest.
func TestTextKeepsNotes(t *testing.T) {
	in := transcript{
		render: strings.Repeat("x\n", 50000), uri: anyURI, captured: true,
		printed: []messages.Printed{{Ref: "out:1", Render: numbered(1, 3000)}}, total: 1,
		notes: []messages.Note{{Code: "output_truncated", Msg: "1 of 2 bytes kept"}},
	}
	got := in.text(4096)
	if !strings.Contains(got, "note output_truncated: 1 of 2 bytes kept") {
		t.Errorf("no note in %q", got)
	}
	if !strings.Contains(got, "more lines, fetch via shoal://out/1)") {
		t.Errorf("no marker of the printed value in %q", got)
	}
}

func TestScreenText(t *testing.T) {
	long := strings.Repeat(`say \"hi\" `, 20)
	for _, test := range []struct {
		name, result string
		limit        int
		want         string
	}{
		{"rows as they are, but for blank ones at the end",
			`{"pty_id":"pty:3","screen":["a \"b\" \\ 世","","<c>","",""],"cursor":{"row":2,"col":3}}`, messages.HardCap,
			"a \"b\" \\ 世\n\n<c>\n[pty:3, cursor row 2 col 3]"},
		{"scrollback first", `{"pty_id":"pty:3","lines":["old",""],"screen":["new"],"exit":{"status":1,"signal":null}}`, messages.HardCap,
			"old\n\nnew\n[pty:3, exited {\"status\":1,\"signal\":null}]"},
		{"no screen", `{"pty_id":"pty:3","bytes_sent":4,"warnings":["a \"line\""],"blocked":true}`, messages.HardCap,
			`[pty:3, 4 bytes sent, the program does not read, warning: a "line"]`},
		{"escapes do not count", `{"pty_id":"pty:3","screen":["` + long + `"]}`, 9*20 + 9,
			strings.Repeat(`say "hi" `, 20) + "\n[pty:3]"},
		{"over the limit", `{"pty_id":"pty:3","screen":["one","two","three"]}`, 8,
			"one\ntwo\n…(2 more lines, fetch via shoal://pty/3)"},
	} {
		quoted, link := quoteScreen([]byte("before "), json.RawMessage(test.result), test.limit)
		var text string
		if err := json.Unmarshal(quoted[len("before "):], &text); err != nil || text != test.want || link != "shoal://pty/3" {
			t.Errorf("%s: %v, link %s\n got %q\nwant %q", test.name, err, link, text, test.want)
		}
	}
}
