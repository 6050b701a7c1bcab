package lang

import (
	"regexp"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Candidate is one way to go on at a cursor. Kind is keyword, let, var, fn,
// alias, use, head, function, namespace, method, field, member, constant, env
// or flag.
type Candidate struct {
	Label   string      `json:"label"`
	Kind    string      `json:"kind"`
	Detail  string      `json:"detail"`
	Replace Replacement `json:"replace"`
}

// Replacement is the half-open range of source bytes that a candidate takes the
// place of.
type Replacement struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// maxCandidates is how many candidates are given.
const maxCandidates = 200

// Complete lists what could stand at the cursor, a byte offset of src that is
// clamped to it, in a session; nil stands for a fresh one. It reads the table
// of builtins and the session's names, nothing else: it never looks at files or
// programs, and runs nothing.
func Complete(src string, cursor int, s *interp.State) []Candidate {
	cursor = max(0, min(cursor, len(src)))
	if s == nil {
		s = interp.NewState("/", nil)
	}
	c := completer{src: src, state: s, start: wordStart(src, cursor), cursor: cursor, out: []Candidate{}}
	if c.inText() {
		return c.out
	}
	before := src[:c.start]
	switch {
	case strings.HasSuffix(before, "--"):
		c.flags()
	case strings.HasSuffix(before, ".") && !strings.HasSuffix(before, ".."):
		c.members(strings.TrimSuffix(strings.TrimSuffix(before, "."), "?"))
	default:
		c.names()
	}
	slices.SortStableFunc(c.out, func(a, b Candidate) int { return strings.Compare(a.Label, b.Label) })
	c.out = slices.CompactFunc(c.out, func(a, b Candidate) bool { return a.Label == b.Label && a.Kind == b.Kind })
	return c.out[:min(len(c.out), maxCandidates)]
}

type completer struct {
	src           string
	state         *interp.State
	start, cursor int
	out           []Candidate
}

func wordStart(src string, at int) int {
	for at > 0 && isWordByte(src[at-1]) {
		at--
	}
	return at
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// inText reports whether the cursor stands in a string or a comment, where
// nothing is completed.
func (c *completer) inText() bool {
	before := c.src[:c.cursor]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	if i := strings.IndexByte(line, '#'); i == 0 || i > 0 && strings.IndexByte(" \t;{(", line[i-1]) >= 0 && !strings.ContainsAny(line[:i], `"'`) {
		return true
	}
	_, err := syntax.Parse(before, c.state.Names())
	return err != nil && err.Incomplete && strings.HasPrefix(err.Msg, "unterminated")
}

func (c *completer) add(label, kind, detail string) {
	if strings.HasPrefix(label, c.src[c.start:c.cursor]) {
		c.out = append(c.out, Candidate{label, kind, detail, Replacement{c.start, c.cursor}})
	}
}

// names are what a word of its own can be.
func (c *completer) names() {
	for _, k := range keywords {
		c.add(k, "keyword", "")
	}
	for _, name := range c.state.Bindings() {
		v, kind, ok := c.state.Lookup(name)
		if !ok {
			continue
		}
		detail := v.Kind().String()
		if kind == interp.BindFn || kind == interp.BindAlias {
			detail = value.Inline(v)
		}
		c.add(name, kind.String(), detail)
	}
	for _, m := range declared.FindAllStringSubmatch(c.src[:c.start], -1) {
		c.add(m[2], m[1], "")
	}
	spaces := map[string]bool{"env": true}
	for _, e := range builtin.Entries() {
		switch e.Kind {
		case "head", "function":
			c.add(e.Name, e.Kind, e.Signature)
		case "member", "constant":
			spaces[e.Space] = true
		}
	}
	for space := range spaces {
		c.add(space, "namespace", "")
	}
}

var keywords = []string{
	"alias", "break", "catch", "continue", "else", "export", "false", "fn", "for", "if", "in", "let", "match",
	"null", "return", "spawn", "true", "try", "use", "var", "while", "with",
}

// declared finds the declarations of a source that need not parse.
var declared = regexp.MustCompile(`\b(let|var|fn|alias)\s+([A-Za-z_][A-Za-z0-9_]*)`)

// members are what can follow a dot.
func (c *completer) members(recv string) {
	name := recv[wordStart(recv, len(recv)):]
	alone := name != "" && !strings.HasSuffix(strings.TrimSuffix(recv, name), ".")
	v, _, bound := c.state.Lookup(name)
	bound = bound && alone
	if alone && !bound {
		if name == "env" {
			for _, kv := range c.state.Environ() {
				variable, _, _ := strings.Cut(kv, "=")
				c.add(variable, "env", "")
			}
			return
		}
		if c.spaceMembers(name) {
			return
		}
	}
	kind, known := receiverKind(recv)
	if bound {
		kind, known = v.Kind(), true
		if kind == value.KindRecord {
			r := v.AsRecord()
			for i, key := range r.Shape.Keys() {
				c.add(key, "field", r.Vals[i].Kind().String())
			}
		}
	}
	for _, e := range builtin.Entries() {
		if (e.Kind == "method" || e.Kind == "field") && (!known || e.On(kind)) {
			c.add(e.Name, e.Kind, e.Signature)
		}
	}
	if !known || kind == value.KindOutcome {
		for _, f := range []string{"status", "ok", "out", "err", "stdout", "stderr", "signal", "dur", "pid", "cmd"} {
			c.add(f, "field", "of an outcome")
		}
	}
}

func (c *completer) spaceMembers(space string) bool {
	found := false
	for _, e := range builtin.Entries() {
		if e.Space == space {
			found = true
			c.add(e.Name, e.Kind, e.Signature)
		}
	}
	return found
}

// receiverKind is the kind of value that a text ends with, where its last
// character shows it.
func receiverKind(recv string) (value.Kind, bool) {
	switch {
	case strings.HasSuffix(recv, `"`), strings.HasSuffix(recv, "'"):
		return value.KindStr, true
	case strings.HasSuffix(recv, "]"):
		open := strings.LastIndexByte(recv, '[')
		if open >= 0 && (open == 0 || !isWordByte(recv[open-1]) && recv[open-1] != ')' && recv[open-1] != ']') {
			return value.KindList, true
		}
	}
	return value.KindNull, false
}

// flags are those of the command on the cursor's line.
func (c *completer) flags() {
	c.start -= len("--")
	line := c.src[strings.LastIndexAny(c.src[:c.start], "\n;({&|")+1 : c.start]
	head, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	for _, e := range builtin.Entries() {
		if e.Kind == "head" && e.Name == head {
			for _, f := range longFlag.FindAllString(e.Signature, -1) {
				c.add(f, "flag", e.Signature)
			}
		}
	}
	v, _, ok := c.state.Lookup(head)
	if !ok {
		return
	}
	if code, ok := c.state.Code(v); ok && code.Lambda != nil {
		for _, p := range code.Lambda.Params {
			if !p.Rest {
				c.add("--"+strings.ReplaceAll(p.Name, "_", "-"), "flag", value.Inline(v))
			}
		}
	}
}

var longFlag = regexp.MustCompile(`--[a-z][a-z-]*`)
