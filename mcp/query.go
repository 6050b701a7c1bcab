package mcp

import (
	"encoding/json"
	"strconv"
	"strings"

	"shoal.dev/shoal/messages"
)

// source is the kernel call that reads a resource.
type source struct {
	method string
	params json.RawMessage
}

// source makes the call that reads the target.
func (t target) source() (source, *messages.Error) {
	switch t.kind {
	case "out", "val", "task/out":
		return t.valueSource()
	case "task":
		return source{"task.get", messages.JSON(map[string]string{"task": t.ref()})}, nil
	case "task/stdout", "task/stderr":
		return t.outputSource()
	case "plan":
		return source{"plan.get", messages.JSON(map[string]string{"plan_ref": t.ref()})}, nil
	case "session":
		return source{"session." + t.id, nil}, nil
	case "pty":
		return source{"pty.read", messages.JSON(map[string]string{"pty_id": t.ref()})}, nil
	case "ptys":
		return source{"pty.list", nil}, nil
	case "jobs":
		return source{"task.list", nil}, nil
	case "journal":
		return t.journalSource()
	default:
		return t.eventsSource()
	}
}

func (t target) valueSource() (source, *messages.Error) {
	p := messages.GetValueParams{Ref: t.ref(), Path: t.query["path"], Format: t.query["format"]}
	switch p.Format {
	case "", "json", "render", "raw":
	default:
		return source{}, badQuery("format", "expected json, render or raw, got %q", clip(p.Format, 64))
	}
	var err *messages.Error
	p.Slice, err = t.slice()
	return source{"value.get", messages.JSON(p)}, err
}

// slice is the query value slice=START..END; nil when there is none.
func (t target) slice() ([]int64, *messages.Error) {
	text, given := t.query["slice"]
	if !given {
		return nil, nil
	}
	from, to, ok := strings.Cut(text, "..")
	start, err1 := strconv.ParseInt(from, 10, 64)
	end, err2 := strconv.ParseInt(to, 10, 64)
	if !ok || err1 != nil || err2 != nil || start < 0 || end < 0 {
		return nil, badQuery("slice", "expected START..END, got %q", clip(text, 64))
	}
	return []int64{start, end}, nil
}

func (t target) outputSource() (source, *messages.Error) {
	p := map[string]any{"task": "task:" + t.id, "stream": strings.TrimPrefix(t.kind, "task/")}
	for _, key := range []string{"offset", "limit"} {
		least := int64(0)
		if key == "limit" {
			least = 1
		}
		if err := t.number(p, key, least); err != nil {
			return source{}, err
		}
	}
	return source{"task.output", messages.JSON(p)}, nil
}

// number adds an integer of the query to params.
func (t target) number(params map[string]any, key string, least int64) *messages.Error {
	text, given := t.query[key]
	if !given {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		return badQuery(key, "expected an integer of at least %d, got %q", least, clip(text, 64))
	}
	params[key] = n
	return nil
}

func (t target) eventsSource() (source, *messages.Error) {
	p := map[string]any{"channel": t.id}
	since, err := t.since()
	if err != nil {
		return source{}, err
	}
	if since != nil {
		p["since"] = *since
	}
	if err := t.number(p, "limit", 1); err != nil {
		return source{}, err
	}
	return source{"events.read", messages.JSON(p)}, nil
}

// since is the sequence number of the query; nil when there is none.
func (t target) since() (*uint64, *messages.Error) {
	text, given := t.query["since"]
	if !given {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, badQuery("since", "expected a sequence number, got %q", clip(text, 64))
	}
	return &n, nil
}

func (t target) journalSource() (source, *messages.Error) {
	p := map[string]any{}
	for _, key := range []string{"since", "until"} {
		if err := t.number(p, key, -1<<63); err != nil {
			return source{}, err
		}
	}
	if err := t.number(p, "limit", 1); err != nil {
		return source{}, err
	}
	for _, key := range []string{"head", "principal"} {
		if text, given := t.query[key]; given {
			p[key] = text
		}
	}
	if text, given := t.query["ok"]; given {
		if text != "true" && text != "false" {
			return source{}, badQuery("ok", "expected true or false, got %q", clip(text, 64))
		}
		p["ok"] = text == "true"
	}
	if text, given := t.query["effects"]; given {
		p["effects"] = strings.Split(text, ",")
	}
	return source{"journal.query", messages.JSON(p)}, nil
}
