package lang

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Candidate is one way to go on at a cursor. Kind is keyword, let, var, fn,
// alias, use, head, function, namespace, method, field, member, constant, env,
// flag, path, directory, program or ref.
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

// Surroundings are what completion may look at; the zero value is a fresh
// session without a world.
type Surroundings struct {
	State *interp.State
	// Files are where paths and programs are looked for; nil offers none.
	Files interp.Files
	// Visible says which variables of the environment may be named; nil: all.
	Visible func(variable string) bool
	// Refs lists the refs of the session that begin with a prefix such as
	// "out:1" or "task:", with a word about each; nil: none.
	Refs func(prefix string) []Ref
}

// Ref is a ref as it may be written in a command, and what it names.
type Ref struct{ Name, Detail string }

// Complete lists what could stand at the cursor, a byte offset of src that is
// clamped to it. It reads the table of builtins, the session's names and refs,
// and names in directories: of PATH where a command may stand, of the working
// directory in a command's arguments. It runs nothing. When ctx ends, what has
// been found is given. At most maxCandidates are given, in the order of their
// labels; names come before files and programs when there are too many.
func Complete(ctx context.Context, src string, cursor int, in Surroundings) []Candidate {
	cursor = max(0, min(cursor, len(src)))
	if in.State == nil {
		in.State = interp.NewState("/", nil)
	}
	c := completer{ctx: ctx, src: src, in: in, state: in.State, start: wordStart(src, cursor), cursor: cursor, out: []Candidate{}}
	if c.inText() {
		return c.out
	}
	before := src[:c.start]
	word, place := c.word()
	switch {
	case strings.HasSuffix(before, "--") && place != atExpression:
		c.flags()
	case place == atArgument:
		c.argument(word)
	case place == atHead && c.isPath(word):
		c.paths(word, true)
	case strings.HasSuffix(before, ".") && !strings.HasSuffix(before, ".."):
		c.members(strings.TrimSuffix(strings.TrimSuffix(before, "."), "?"))
	default:
		if !word.forced {
			c.names()
		}
		if place == atHead {
			c.programs(word)
		}
	}
	return c.found()
}

// found are the candidates: names first, then what is in directories.
func (c *completer) found() []Candidate {
	byLabel := func(a, b Candidate) int { return strings.Compare(a.Label, b.Label) }
	slices.SortStableFunc(c.out, byLabel)
	c.out = slices.CompactFunc(c.out, func(a, b Candidate) bool { return a.Label == b.Label && a.Kind == b.Kind })
	slices.SortStableFunc(c.outside, byLabel)
	c.outside = slices.CompactFunc(c.outside, func(a, b Candidate) bool { return a.Label == b.Label })
	all := append(c.out, c.outside...)
	all = all[:min(len(all), maxCandidates)]
	slices.SortStableFunc(all, byLabel)
	return all
}

type completer struct {
	ctx           context.Context
	src           string
	in            Surroundings
	state         *interp.State
	start, cursor int
	out           []Candidate     // names
	outside       []Candidate     // paths and programs
	before        *syntax.Program // the lines before the one at the cursor; nil: not parsed yet
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
		c.out = append(c.out, Candidate{label, kind, brief(detail), Replacement{c.start, c.cursor}})
	}
}

// maxDetail is how many characters of a detail are given.
const maxDetail = 120

func brief(text string) string {
	if runes := []rune(text); len(runes) > maxDetail {
		return string(runes[:maxDetail-1]) + "…"
	}
	return text
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
	_, _, bound := c.state.Lookup(name)
	if alone && !bound {
		if name == "env" {
			for _, kv := range c.state.Environ() {
				variable, _, _ := strings.Cut(kv, "=")
				if c.in.Visible == nil || c.in.Visible(variable) {
					c.add(variable, "env", "")
				}
			}
			return
		}
		if c.spaceMembers(name) {
			return
		}
	}
	got := c.infer(recv)
	kind, known := got.kind, got.known
	forwards := kind == value.KindOutcome // what it does not know itself goes to its out
	if got.has && kind == value.KindRecord {
		r := got.v.AsRecord()
		for i, key := range r.Shape.Keys() {
			c.add(key, "field", r.Vals[i].Kind().String())
		}
	}
	for _, key := range got.keys {
		c.add(key, "field", "")
	}
	for _, e := range builtin.Entries() {
		if (e.Kind == "method" || e.Kind == "field") && (!known || forwards || e.On(kind)) {
			c.add(e.Name, e.Kind, e.Signature)
		}
	}
	if !known || forwards {
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
