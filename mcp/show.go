package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
)

// The functions here are the show column of the tool table: what a person, or a
// client that knows no structured content, reads of a result.

// showExecution shows any form of what a submission answers.
func showExecution(result json.RawMessage, limit int) (text, link string) {
	switch {
	case member(result, "ref") != nil:
		return showFinished(result, limit)
	case member(result, "plan_ref") != nil:
		return showPlan(result, limit)
	case member(result, "task") != nil:
		return showHanded(result)
	}
	return showPlain(result, limit)
}

func showFinished(result json.RawMessage, limit int) (text, link string) {
	t := transcript{uri: unquote(member(result, "uri")), render: unquote(member(result, "render"))}
	if t.uri == "" {
		t.uri = messages.Ref(unquote(member(result, "ref"))).URI()
	}
	json.Unmarshal(member(result, "printed"), &t.printed)
	json.Unmarshal(member(result, "printed_total"), &t.total)
	json.Unmarshal(member(result, "notes"), &t.notes)
	t.total = max(t.total, len(t.printed))
	t.captured = capturedValue(member(result, "value"))
	if exit := string(member(result, "exit")); exit != "" && exit != "null" {
		t.notes = append(t.notes, messages.Note{Code: "exit", Msg: "the program ended itself with " + exit})
	}
	return t.text(limit), t.uri
}

// capturedValue reports whether a tagged value is a program's output, of which
// the last lines are as telling as the first.
func capturedValue(value []byte) bool {
	kind := unquote(member(value, "$"))
	if kind == "ref" {
		kind = unquote(member(value, "of"))
	}
	return kind == "bytes" || kind == "outcome"
}

func showHanded(result json.RawMessage) (text, link string) {
	id := unquote(member(result, "task"))
	uri := messages.TaskID(id).URI()
	what := "runs in the background"
	switch {
	case unquote(member(result, "state")) == string(messages.TaskQueued):
		what = "is queued"
	case string(member(result, "timed_out")) == "true":
		what = "still runs: the wait is over, the work goes on"
	}
	return fmt.Sprintf("%s %s\nrecord %s, result %s/out, output %s/stdout, events shoal://events/%s; shoal_cancel ends it",
		id, what, uri, uri, uri, unquote(member(result, "events"))), uri
}

func showPlan(result json.RawMessage, limit int) (text, link string) {
	ref := unquote(member(result, "plan_ref"))
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", ref, unquote(member(result, "verdict")), unquote(member(result, "reversibility")))
	if string(member(result, "approval_pending")) == "true" {
		b.WriteString("; ask with shoal_cap_request")
	}
	n := 0
	eachItem(member(result, "effects"), func(e []byte) bool {
		n++
		addLine(&b, "  "+effectLine(e))
		return true
	})
	if n == 0 {
		addLine(&b, "  no effects")
	}
	if total := member(result, "effects_total"); total != nil {
		addLine(&b, "  … "+string(total)+" effects in all")
	}
	uri := messages.PlanRef(ref).URI()
	return bounded(b.String(), limit, uri), uri
}

// effectLine is one effect as plan records spell it.
func effectLine(e []byte) string {
	return strings.Replace(unquote(member(e, "kind")), "_", ".", 1) + "(" + effectTarget(e) + ")"
}

// effectTarget is what an effect is on.
func effectTarget(e []byte) string {
	for _, name := range []string{"path", "argv0", "name", "host", "why"} {
		if target := unquote(member(e, name)); target != "" {
			if port := unquote(member(e, "port")); port != "" {
				target += ":" + port
			}
			return target
		}
	}
	if port := unquote(member(e, "port")); port != "" {
		return ":" + port
	}
	return ""
}

// showValue shows what a read gave: its rendering, or else its JSON.
func showValue(result json.RawMessage, limit int) (text, link string) {
	ref := unquote(member(result, "ref"))
	uri := messages.Ref(ref).URI()
	if strings.HasPrefix(ref, "task:") {
		uri = messages.TaskID(ref).URI() + "/out"
	}
	if render := member(result, "render"); render != nil {
		return bounded(unquote(render), limit, uri), uri
	}
	text, _ = showPlain(result, limit)
	return text, uri
}

// showJournal is one line per entry.
func showJournal(result json.RawMessage, limit int) (text, link string) {
	var b strings.Builder
	eachItem(member(result, "entries"), func(e []byte) bool {
		ns, _ := strconv.ParseInt(string(member(e, "ts")), 10, 64)
		src, _, more := strings.Cut(strings.TrimSpace(unquote(member(e, "src"))), "\n")
		if more {
			src += " …"
		}
		addLine(&b, fmt.Sprintf("%s %s %s %s %s %s %s", member(e, "id"), time.Unix(0, ns).UTC().Format(time.RFC3339),
			unquote(member(e, "status")), unquote(member(e, "kind")), unquote(member(e, "principal")),
			unquote(member(e, "ref")), clip(src, 160)))
		return true
	})
	if b.Len() == 0 {
		return "no entries", ""
	}
	if next := unquote(member(result, "next")); next != "" {
		addLine(&b, "more with cursor "+next)
	}
	return bounded(b.String(), limit, "shoal://journal"), ""
}

func showTask(result json.RawMessage, _ int) (text, link string) {
	id := unquote(member(result, "task"))
	return id + " " + unquote(member(result, "state")), messages.TaskID(id).URI()
}

func showApproval(result json.RawMessage, _ int) (text, link string) {
	text = unquote(member(result, "status"))
	var open []string
	json.Unmarshal(member(result, "uncovered"), &open)
	if len(open) > 0 {
		text += "; not covered: " + strings.Join(open, " ")
	}
	if by := unquote(member(result, "approver")); by != "" {
		text += "; by " + by
	}
	return text, ""
}

func showOpened(result json.RawMessage, _ int) (text, link string) {
	id := unquote(member(result, "pty_id"))
	return fmt.Sprintf("%s runs %s, pid %s, %s columns, %s rows", id, unquote(member(result, "cmd")),
		member(result, "pid"), member(result, "cols"), member(result, "rows")), messages.PTYID(id).URI()
}

// quoteScreen appends the rows of a screen and a line about its state, as one JSON
// string: the rows are strings already.
func quoteScreen(dst []byte, result json.RawMessage, limit int) (out []byte, link string) {
	s := partsOfScreen(result)
	uri := messages.PTYID(unquote(s.pty)).URI()
	start := len(dst)
	dst = append(dst, '"')
	eachItem(s.lines, func(row []byte) bool {
		dst = appendRow(dst, row)
		return true
	})
	blank := 0 // rows below the last one with text are not worth showing
	eachItem(s.rows, func(row []byte) bool {
		if len(row) <= len(`""`) {
			blank++
			return true
		}
		for ; blank > 0; blank-- {
			dst = append(dst, `\n`...)
		}
		dst = appendRow(dst, row)
		return true
	})
	dst = append(dst, messages.AppendString(nil, s.state())[1:]...)
	if quotes := len(`""`); len(dst)-start-quotes > limit {
		text := bounded(unquote(dst[start:]), limit, uri)
		dst = messages.AppendString(dst[:start], text)
	}
	return dst, uri
}

// appendRow appends the inside of a JSON string and a newline.
func appendRow(dst, row []byte) []byte {
	return append(append(dst, row[1:len(row)-1]...), `\n`...)
}

// screenParts are the members of a screen that text shows, raw; nil where there
// are none.
type screenParts struct {
	pty, rows, lines, sent, blocked, warnings, cursor, exit, keyboard, recording, wait []byte
}

func partsOfScreen(result []byte) screenParts {
	var s screenParts
	eachMember(result, func(key, value []byte) bool {
		switch string(key) {
		case "pty_id":
			s.pty = value
		case "screen":
			s.rows = value
		case "lines":
			s.lines = value
		case "bytes_sent":
			s.sent = value
		case "blocked":
			s.blocked = value
		case "warnings":
			s.warnings = value
		case "cursor":
			s.cursor = value
		case "exit":
			s.exit = value
		case "keyboard":
			s.keyboard = value
		case "recording":
			s.recording = value
		case "wait":
			s.wait = value
		}
		return true
	})
	return s
}

// state is the line about what the parts say beside the rows.
func (s screenParts) state() string {
	var b strings.Builder
	b.WriteString("[" + unquote(s.pty))
	if s.sent != nil {
		fmt.Fprintf(&b, ", %s bytes sent", s.sent)
	}
	if string(s.blocked) == "true" {
		b.WriteString(", the program does not read")
	}
	eachItem(s.warnings, func(w []byte) bool {
		text := unquote(w)
		if text == "" {
			text = string(w)
		}
		b.WriteString(", warning: " + text)
		return true
	})
	if s.cursor != nil {
		fmt.Fprintf(&b, ", cursor row %s col %s", member(s.cursor, "row"), member(s.cursor, "col"))
	}
	if len(s.exit) > 0 && s.exit[0] == '{' {
		fmt.Fprintf(&b, ", exited %s", s.exit)
	}
	if s.keyboard != nil && string(member(s.keyboard, "yours")) != "true" {
		fmt.Fprintf(&b, ", %s holds the keyboard", unquote(member(s.keyboard, "holder")))
	}
	if ref := unquote(member(s.recording, "ref")); ref != "" {
		b.WriteString(", recorded as " + ref)
	}
	if s.wait != nil && string(member(s.wait, "met")) == "false" {
		b.WriteString(", wait not met")
	}
	b.WriteByte(']')
	return b.String()
}

func showTerminals(result json.RawMessage, limit int) (text, link string) {
	var b strings.Builder
	eachItem(member(result, "ptys"), func(p []byte) bool {
		state := "ended"
		if string(member(p, "alive")) == "true" {
			state = "alive"
		}
		addLine(&b, fmt.Sprintf("%s %s pid %s %sx%s %s", unquote(member(p, "pty_id")), unquote(member(p, "cmd")),
			member(p, "pid"), member(p, "cols"), member(p, "rows"), state))
		return true
	})
	if b.Len() == 0 {
		return "no terminals", ""
	}
	return bounded(b.String(), limit, "shoal://pty"), ""
}

// showPlain is the result's JSON.
func showPlain(result json.RawMessage, limit int) (text, link string) {
	var compact bytes.Buffer
	if json.Compact(&compact, result) != nil {
		return "", ""
	}
	if compact.Len() > limit {
		return clip(compact.String(), limit-len(gap)), ""
	}
	return compact.String(), ""
}

// bounded cuts a text like a result without printed values and notes.
func bounded(text string, limit int, uri string) string {
	return transcript{render: text, uri: uri}.text(limit)
}
