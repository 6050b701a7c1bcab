package mcp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"shoal.dev/shoal/messages"
)

// scheme is how every resource's URI begins.
const scheme = "shoal://"

// refKind is a kind of thing that has both a ref and a URI.
type refKind string

const (
	refValue refKind = "value" // out:N, val:…, task:N
	refTask  refKind = "task"
	refPTY   refKind = "pty"
	refPlan  refKind = "plan"
)

// target is what a resource URI names.
type target struct {
	kind  string // out val task task/out task/stdout task/stderr plan session pty ptys journal jobs guide events
	id    string // number, hash, plan, view or channel
	query map[string]string
}

// queries is which query values each kind of resource takes.
var queries = map[string][]string{
	"out":         {"path", "slice", "format"},
	"val":         {"slice", "format"},
	"task":        {},
	"task/out":    {"path", "slice", "format"},
	"task/stdout": {"offset", "limit"},
	"task/stderr": {"offset", "limit"},
	"plan":        {},
	"session":     {},
	"pty":         {},
	"ptys":        {},
	"jobs":        {},
	"guide":       {},
	"journal":     {"since", "until", "head", "principal", "ok", "effects", "limit"},
	"events":      {"since", "limit"},
}

func isURI(s string) bool {
	return len(s) >= len(scheme) && strings.EqualFold(s[:len(scheme)], scheme)
}

// parseURI reads a resource URI. The refusal is a kernel error: of an unknown
// ref when nothing has that address, of bad arguments when the query is wrong.
func parseURI(uri string) (target, *messages.Error) {
	t, query, err := splitURI(uri)
	if err != nil {
		return t, err
	}
	t.query, err = parseQuery(query, queries[t.kind])
	return t, err
}

// splitURI reads all but the query.
func splitURI(uri string) (target, string, *messages.Error) {
	unknown := messages.Errorf(messages.CodeUnknownRef, "there is no resource %s", clip(uri, 256))
	if !isURI(uri) || strings.Contains(uri, "#") {
		return target{}, "", unknown
	}
	address, query, _ := strings.Cut(uri[len(scheme):], "?")
	var parts []string
	for part := range strings.SplitSeq(address, "/") {
		text, err := url.PathUnescape(part)
		if err != nil || text == "" {
			return target{}, "", unknown
		}
		parts = append(parts, text)
	}
	t, ok := locate(parts)
	if !ok {
		return t, "", unknown
	}
	return t, query, nil
}

// locate names the resource at an address of one to three parts.
func locate(parts []string) (target, bool) {
	kind := parts[0]
	switch len(parts) {
	case 1:
		switch kind {
		case "pty":
			return target{kind: "ptys"}, true
		case "journal", "jobs", "guide":
			return target{kind: kind}, true
		}
	case 2:
		id := parts[1]
		switch kind {
		case "out", "task", "pty":
			return target{kind: kind, id: id}, isNumber(id)
		case "val":
			return target{kind: kind, id: strings.TrimPrefix(id, "blake3:")}, true
		case "plan":
			return target{kind: kind, id: strings.TrimPrefix(id, "plan:")}, true
		case "session":
			return target{kind: kind, id: id}, slices.Contains(views, id)
		case "events":
			return target{kind: kind, id: id}, true
		}
	case 3:
		if kind == "task" && isNumber(parts[1]) {
			t := target{kind: kind + "/" + parts[2], id: parts[1]}
			_, known := queries[t.kind]
			return t, known
		}
	}
	return target{}, false
}

// views are the session's live views.
var views = []string{"cwd", "env", "reef"}

// isNumber reports whether s is a decimal as ids have it: one spelling each.
func isNumber(s string) bool {
	if s == "" || len(s) > 20 || s[0] == '0' && s != "0" {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// parseQuery reads the values of a query, in any order.
func parseQuery(query string, known []string) (map[string]string, *messages.Error) {
	values := map[string]string{}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key, err := url.PathUnescape(key)
		if err != nil || !slices.Contains(known, key) {
			list := "none"
			if len(known) > 0 {
				list = strings.Join(known, ", ")
			}
			return nil, badQuery(key, "unknown query value (known: %s)", list)
		}
		text, err := url.PathUnescape(value)
		if err != nil {
			return nil, badQuery(key, "malformed percent-encoding in %q", clip(value, 64))
		}
		if _, twice := values[key]; twice {
			return nil, badQuery(key, "query value is given twice")
		}
		values[key] = text
	}
	return values, nil
}

func badQuery(key, format string, args ...any) *messages.Error {
	return messages.Errorf(messages.CodeInvalidParams, "%s: %s", clip(key, 64), fmt.Sprintf(format, args...))
}

// ref is the kernel's name for the value or thing that the target is.
func (t target) ref() string {
	switch t.kind {
	case "val":
		return "val:blake3:" + t.id
	case "task/out":
		return "task:" + t.id
	default:
		return t.kind + ":" + t.id
	}
}

// refOf turns a URI into a ref of that kind.
func refOf(kind refKind, uri string) (string, error) {
	t, _, err := splitURI(uri)
	fits := false
	switch kind {
	case refValue:
		fits = t.kind == "out" || t.kind == "val" || t.kind == "task" || t.kind == "task/out"
	case refTask:
		fits = t.kind == "task" || t.kind == "task/out"
	case refPTY:
		fits = t.kind == "pty"
	case refPlan:
		fits = t.kind == "plan"
	}
	if err != nil || !fits {
		return "", fmt.Errorf("expected the ref or URI of a %s, got %q", kind, clip(uri, 128))
	}
	return t.ref(), nil
}
