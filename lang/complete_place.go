package lang

import (
	"regexp"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/interp"
)

// place is what a cursor's surroundings say about what may stand there.
type place uint8

const (
	atExpression place = iota // names and members
	atHead                    // the start of a statement: programs too
	atArgument                // a command's argument: text, paths, refs
)

// shellWord is the command word that ends at the cursor.
type shellWord struct {
	text   string
	start  int
	forced bool // after a ^: an external program
}

// wordBreaks are the bytes that end a command word.
const wordBreaks = " \t\r\n;(){}[]\"'`,|&<>="

// word is the command word that ends at the cursor, and where it stands.
func (c *completer) word() (shellWord, place) {
	start := strings.LastIndexAny(c.src[:c.cursor], wordBreaks) + 1
	w := shellWord{text: c.src[start:c.cursor], start: start}
	segment := c.segment(start)
	before := strings.Fields(segment)
	for len(before) > 0 && envPrefix.MatchString(before[0]) {
		before = before[1:]
	}
	switch {
	case len(before) == 0 && opensExpression(c.src[:start-len(segment)]):
		return w, atExpression // the arguments of a call
	case len(before) == 0 && strings.HasPrefix(w.text, "^"):
		return shellWord{w.text[1:], start + 1, true}, atHead
	case len(before) == 0:
		return w, atHead
	}
	head, last := before[0], before[len(before)-1]
	switch {
	case last == "=", len(before) == 1 && startsExpression[head]:
		return w, atHead // a command may be a value
	case c.isCommand(head) && !strings.HasSuffix(segment, "="):
		return w, atArgument
	}
	return w, atExpression
}

// segment is the part of the statement at hand that stands before an offset:
// from the last separator or open bracket, with brackets that were closed.
func (c *completer) segment(end int) string {
	closed := 0
	for i := end - 1; i >= 0; i-- {
		switch c.src[i] {
		case ')', ']', '}':
			closed++
		case '(', '[', '{':
			if closed == 0 {
				return c.src[i+1 : end]
			}
			closed--
		case '\n', ';', '|', '&':
			if closed == 0 {
				return c.src[i+1 : end]
			}
		}
	}
	return c.src[:end]
}

// envPrefix is a variable set for one command.
var envPrefix = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=\S*$`)

// isPath reports whether a word at the start of a statement is a path: it has a
// slash that does not divide.
func (c *completer) isPath(w shellWord) bool {
	first, _, slash := strings.Cut(w.text, "/")
	if !slash {
		return false
	}
	if first == "" || first == "~" || first[0] == '.' {
		return true
	}
	_, _, bound := c.state.Lookup(first)
	return !bound && !c.isDeclared(first) && (first[0] < '0' || first[0] > '9')
}

// opensExpression reports whether a text ends with the bracket of a list or of a
// call.
func opensExpression(text string) bool {
	if strings.HasSuffix(text, "[") {
		return true
	}
	text, ok := strings.CutSuffix(text, "(")
	return ok && text != "" && (isWordByte(text[len(text)-1]) || text[len(text)-1] == ']')
}

// startsExpression are the keywords after which a command may stand.
var startsExpression = map[string]bool{
	"if": true, "else": true, "return": true, "in": true, "match": true, "while": true, "catch": true,
}

// isCommand reports whether a statement that begins with a word is a command.
func (c *completer) isCommand(head string) bool {
	head = strings.TrimPrefix(head, "^")
	if head == "" || strings.ContainsAny(head, wordBreaks) {
		return false
	}
	if slices.Contains(keywords, head) {
		return false
	}
	if _, kind, bound := c.state.Lookup(head); bound {
		return kind == interp.BindFn || kind == interp.BindAlias
	}
	if c.isDeclared(head) {
		return false
	}
	first := head[0]
	return first == '/' || first == '.' || first == '~' || first == '_' || first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z'
}

// isDeclared reports whether the source itself makes a variable of that name.
func (c *completer) isDeclared(name string) bool {
	for _, m := range declared.FindAllStringSubmatch(c.src[:c.start], -1) {
		if m[2] == name && (m[1] == "let" || m[1] == "var") {
			return true
		}
	}
	return false
}

// argument offers what a command's argument can be: an option of the command, a
// ref, a path.
func (c *completer) argument(w shellWord) {
	if w.text == "-" {
		return
	}
	if c.in.Refs != nil && strings.Contains(w.text, ":") {
		for _, r := range c.in.Refs(w.text) {
			c.out = append(c.out, Candidate{r.Name, "ref", r.Detail, Replacement{w.start, c.cursor}})
		}
	}
	c.paths(w, false)
	if head := strings.TrimSpace(c.segment(w.start)); head == "which" || head == "run" {
		c.programs(w)
	}
}
