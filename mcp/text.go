package mcp

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
)

// gap stands where lines between the first and the last ones were left out.
const gap = "…"

// noteBytes is the most of one note, and of all notes together, that text shows.
const noteBytes = 1 << 10

// transcript is what an execution has to show.
type transcript struct {
	printed  []messages.Printed
	total    int // printed values, those that were not kept included
	render   string
	uri      string // where the whole result is
	captured bool   // the result is a program's output: its end matters too
	notes    []messages.Note
}

// text is what printed values showed, then the result, then one line per note,
// in at most limit bytes. When lines of the result were left out, here or in
// the kernel, one marker line that counts them all comes last, beyond the limit
// but never beyond the hard cap.
func (t transcript) text(limit int) string {
	body, hidden, cut := splitMarker(t.render, t.uri)
	shown, left, over := t.fit(body, limit)
	if !cut && !over {
		return shown
	}
	marker := markerLine(hidden+left, t.uri)
	if len(shown)+len(marker) >= messages.HardCap {
		const digits = 9 // by which the number may grow
		shown, left, _ = t.fit(body, messages.HardCap-len(marker)-digits-1)
		marker = markerLine(hidden+left, t.uri)
	}
	return joinLines(shown, marker)
}

// fit composes the parts in room bytes, and says how many of the result's lines
// found no room and whether anything of it did not. Notes come first, since they
// say what no other part does; printed values have what the result leaves, and
// half of the rest at least.
func (t transcript) fit(body string, room int) (shown string, left int, cut bool) {
	notes := t.noteLines(room / 4)
	rest := room - len(notes)
	printed := t.printedLines(max(rest-len(body)-2, rest/2))
	rest -= len(printed)
	if len(printed) > 0 || len(notes) > 0 {
		rest -= 2 // newlines between the parts
	}
	result, left, cut := cutLines(body, max(rest, 0), t.captured)
	return joinLines(printed, result, notes), left, cut
}

// printedLines is what statements showed, as far as it fits.
func (t transcript) printedLines(room int) string {
	var b strings.Builder
	missing := t.total - len(t.printed)
	for i, p := range t.printed {
		if i == messages.PrintedHead && missing > 0 {
			addLine(&b, moreValues(missing))
			missing = 0
		}
		text := p.Render
		if b.Len()+len(text)+1 > room {
			if p.Ref != "" {
				uri := p.Ref.URI()
				body, hidden, _ := splitMarker(text, uri)
				marker := markerLine(hidden+countLines(body), uri)
				short, left, _ := cutLines(body, max(room-b.Len()-len(marker)-2, 0), false)
				addLine(&b, joinLines(short, markerLine(hidden+left, uri)))
				i++
			}
			missing += len(t.printed) - i
			break
		}
		addLine(&b, text)
	}
	if missing > 0 {
		addLine(&b, moreValues(missing))
	}
	return b.String()
}

func moreValues(n int) string { return "…(" + strconv.Itoa(n) + " more printed values)" }

func (t transcript) noteLines(room int) string {
	var b strings.Builder
	room = min(room, 8*noteBytes)
	for _, n := range t.notes {
		line := "note " + n.Code + ": " + clip(strings.Join(strings.Fields(n.Msg), " "), noteBytes)
		if b.Len()+len(line)+1 > room {
			break
		}
		addLine(&b, line)
	}
	return b.String()
}

// addLine adds text on a line of its own.
func addLine(b *strings.Builder, text string) {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(text)
}

// joinLines puts parts one below the other, leaving out empty ones. A part that
// stands alone is not changed.
func joinLines(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	if len(parts) == 1 {
		return parts[0]
	}
	var b strings.Builder
	for _, p := range parts {
		addLine(&b, p)
	}
	return b.String()
}

// markerLine says how many lines are not shown, and where they can be read.
func markerLine(lines int, uri string) string {
	return "…(" + strconv.Itoa(lines) + " more lines, fetch via " + uri + ")"
}

// splitMarker takes the marker off a text that the kernel cut.
func splitMarker(text, uri string) (body string, hidden int, cut bool) {
	at := strings.LastIndexByte(text, '\n') + 1
	count, ok := strings.CutPrefix(text[at:], "…(")
	if ok {
		count, ok = strings.CutSuffix(count, " more lines, fetch via "+uri+")")
	}
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 0 || uri == "" {
		return text, 0, false
	}
	return strings.TrimSuffix(text[:at], "\n"), n, true
}

// cutLines shows whole leading lines in room bytes and, of captured output,
// also the last lines after a gap, and counts those that it leaves out. A line
// that alone is longer than the room is cut between characters.
func cutLines(text string, room int, captured bool) (shown string, left int, cut bool) {
	if len(text) <= room {
		return text, 0, false
	}
	head, tail := text, ""
	if captured {
		tail = lastLines(text, room/3)
		// What the kernel cut already has its gap: more than the end after it
		// would not be the end.
		if i := strings.LastIndex(text, "\n"+gap+"\n"); i >= 0 {
			if end := text[i+len(gap)+2:]; len(end) < len(tail) {
				tail = end
			}
		}
	}
	if tail != "" {
		head = strings.TrimSuffix(text[:len(text)-len(tail)], "\n")
		head = strings.TrimSuffix(head, "\n"+gap)
		room -= len(tail) + len(gap) + 2
	}
	shown = firstLines(head, max(room, 0))
	left = countLines(head) - countLines(shown)
	if captured && strings.Contains(head[len(shown):]+"\n", "\n"+gap+"\n") {
		left-- // the gap is no line of the result
	}
	if tail == "" {
		return shown, left, true
	}
	return joinLines(shown, gap, tail), left, true
}

// firstLines is as many whole lines as room bytes hold, or the beginning of the
// first.
func firstLines(text string, room int) string {
	if len(text) <= room {
		return text
	}
	if i := strings.LastIndexByte(text[:room+1], '\n'); i > 0 {
		return text[:i]
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:room]
}

// lastLines is as many whole last lines as room bytes hold.
func lastLines(text string, room int) string {
	if len(text) <= room {
		return text
	}
	end := text[len(text)-room:]
	if text[len(text)-room-1] == '\n' {
		return end
	}
	i := strings.IndexByte(end, '\n')
	if i < 0 {
		return ""
	}
	return end[i+1:]
}

func countLines(text string) int {
	if text == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
}
