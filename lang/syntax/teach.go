package syntax

import (
	"fmt"
	"strings"
)

// Messages for the habits that people and models bring from other shells. Each
// names the Shoal form in its hint.

func sigilError(src string, pos int) *Error {
	end := pos + 1
	hint := "write the name alone: `x`; env.X for the environment, (cmd) for a command's result"
	switch rest := src[pos+1:]; {
	case strings.HasPrefix(rest, "("):
		hint = "put the command in parentheses: `(cmd)`"
		if i := strings.IndexByte(rest, ')'); i > 1 && i < maxHabitLine && strings.IndexAny(rest[1:i], "($\n") < 0 {
			hint = "put the command in parentheses: `" + rest[:i+1] + "`; the text of a program is its `.out`"
		}
	case strings.HasPrefix(rest, "{"):
		hint = "write the name alone, or `env.X` for an environment variable"
		if e := identEnd(rest, 1); e > 1 && e < len(rest) && rest[e] == '}' {
			hint = nameHint(rest[1:e])
		}
	case rest != "" && specials[rest[0]] != "":
		end++
		hint = specials[rest[0]]
	case rest != "" && '1' <= rest[0] && rest[0] <= '9':
		end++
		hint = fmt.Sprintf("script arguments are in a list: `args[%d]`", rest[0]-'1')
	case rest != "" && isIdentStart(rest[0]):
		end = identEnd(src, pos+1)
		hint = sigilName(src, pos, end)
	}
	return &Error{Span: Span{pos, end}, Msg: "shoal variables have no sigil", Hint: hint}
}

// specials are the variables of POSIX shells that have no name.
var specials = map[byte]string{
	'?': "a command's result has a status: `let r = (cmd)`, then `r.status`",
	'@': "script arguments are the list `args`; `...(args)` passes them on",
	'*': "script arguments are the list `args`; `...(args)` passes them on",
	'#': "`args.len()` counts script arguments",
	'$': "`os.pid()` is the process id",
	'!': "`let t = spawn { cmd }` keeps the task: `t.await()`, `t.cancel()`",
	'0': "`script` is the path of the script",
}

// sigilName is the hint for `$name`, whose name ends at end.
func sigilName(src string, pos, end int) string {
	name, rest := src[pos+1:end], src[end:]
	line, _, _ := strings.Cut(rest, "\n")
	value := strings.TrimLeft(line, " \t")
	switch {
	case (name == "env" || name == "ENV") && rest != "" && (rest[0] == '.' || rest[0] == ':') && identEnd(rest, 1) > 1:
		return "the environment is `env." + rest[1:identEnd(rest, 1)] + "`"
	case name == "it" || name == "in":
		return "name the item: `x => x.field`, or write `.field` alone"
	case strings.HasPrefix(value, "=") && !strings.HasPrefix(value, "==") && len(value) < maxHabitLine:
		return "`let " + name + " = " + strings.TrimSpace(value[1:]) + "` binds a name, which is written alone: `" + name + "`"
	}
	return nameHint(name)
}

// isEnvName reports whether a name looks like one of the environment.
func isEnvName(name string) bool {
	return strings.ToUpper(name) == name && strings.Trim(name, "_0123456789") != ""
}

// nameHint is how a variable of another shell is read here.
func nameHint(name string) string {
	if isEnvName(name) {
		return fmt.Sprintf("the environment is `env.%s`, \"{env.%s}\" inside a string; a binding is `%s`; '…' keeps `$` as text", name, name, name)
	}
	return fmt.Sprintf("write `%s` for a binding, `env.%s` for the environment, \"{%s}\" inside a string; '…' keeps `$` as text", name, name, name)
}

func backtickError(src string, pos int) *Error {
	hint := "put the command in parentheses: `(cmd …)`"
	if i := strings.IndexAny(src[pos+1:], "`\n"); i > 0 && i < maxHabitLine && src[pos+1+i] == '`' {
		hint = "put the command in parentheses: `(" + src[pos+1:pos+1+i] + ")`"
	}
	return &Error{Span: Span{pos, pos + 1}, Msg: "backtick is not shoal syntax", Hint: hint}
}

func heredocError(src string, pos int) *Error {
	if strings.HasPrefix(src[pos:], "<<<") {
		return &Error{Span: Span{pos, pos + 3}, Msg: "shoal has no here-strings", Hint: "feed the text: `\"text\".feed(cmd)`"}
	}
	return &Error{Span: Span{pos, pos + 2}, Msg: "shoal has no heredocs", Hint: "feed the text: `\"\"\"…\"\"\".feed(cmd)`; here-documents work inside `sh { … }`"}
}

func (p *parser) failPipe(at Span) {
	p.fail(at, "shoal has no pipe operator", pipeHint(p.full, at.Start))
}

func (p *parser) failAmp(at Span) {
	p.fail(at, "`&` is not an operator here", "use `&&` or `;`; quote a URL that holds `&`; `cmd &` ends a statement")
}

func (p *parser) failReplOnly(at Span) {
	name := p.src[at.Start:at.End]
	p.fail(at, "`"+name+"` is REPL-only", "bind the result: `let r = …`; an item is the parameter of a lambda: `x => …`; `^"+name+"` runs a program of that name")
}

// failLeadingDot reports `.field` where no argument starts.
func (p *parser) failLeadingDot(t token) {
	hint := "name the item: `item => item.field`"
	if n := p.skip(t.end); isIdentStart(p.at(n)) {
		hint = "name the item: `item => item." + p.src[n:identEnd(p.src, n)] + "`"
	}
	if h := p.dotted.hint(p.src); h != "" {
		hint = h
	}
	p.fail(t.span(), "a leading `.` has no receiver here", hint)
}

// dotted is a command word with a dot that touches a parenthesis.
type dotted struct {
	active     bool
	start, end int // command text before the dot
}

// hint spells the method call on the command's result.
func (d dotted) hint(src string) string {
	if !d.active {
		return ""
	}
	name := src[d.end+1 : identEnd(src, d.end+1)]
	return "call the method on the command's result: `(" + src[d.start:d.end] + ")." + name + "(…)`"
}

// unexpected fails at a token that cannot stand where want was wanted.
func (p *parser) unexpected(t token, want string) {
	hint := ""
	switch t.kind {
	case tBad:
		panic(t.bad)
	case tPipe:
		p.failPipe(t.span())
	case tAmp:
		p.failAmp(t.span())
	case tDot, tSafeDot:
		if want == "expression" {
			p.failLeadingDot(t)
		}
	case tRParen:
		if h := p.dotted.hint(p.src); h != "" {
			hint = strings.Replace(h, "(…)", "()", 1)
		}
	case tEllipsis:
		hint = "lists join with `+`, records with `.merge(…)`; `...(xs)` spreads into the arguments of a command"
	case tCaret:
		hint = "put the command in parentheses: `(^name …)`"
	case tIdent:
		if want != "expression" {
			p.teachWord(t)
		}
	case tAssign:
		if want != "expression" {
			hint = "`=` assigns only at the start of a statement; `==` compares"
		}
	}
	p.fail(t.span(), "expected "+want+", found "+t.kind.String(), hint)
}

// teachWord reports words that other languages use as operators or keywords.
func (p *parser) teachWord(t token) {
	switch p.text(t) {
	case "and":
		p.fail(t.span(), "use `&&`", "`a && b`")
	case "or":
		p.fail(t.span(), "use `||`", "`a || b`")
	case "not":
		p.fail(t.span(), "use `!`", "`!x`")
	case "then", "fi", "do", "done", "esac", "elif":
		p.failShellWord(t)
	}
}

func (p *parser) failShellWord(t token) {
	hint := "write `if cond { … } else { … }`"
	switch p.text(t) {
	case "do", "done":
		hint = "write `for x in xs { … }` or `while cond { … }`"
	case "esac":
		hint = "write `match x { pat => …; _ => … }`"
	case "elif":
		hint = "write `else if cond { … }`"
	}
	p.fail(t.span(), "`"+p.text(t)+"` is not shoal syntax", hint)
}

// shellHead looks for `; then` or `; do` after the head in which e arose.
func (p *parser) shellHead(e *Error) *Error {
	if len(p.heads) == 0 {
		return nil
	}
	head := p.heads[len(p.heads)-1]
	line := p.full[head:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		j := p.skipLines(head + i)
		end := identEnd(p.full, min(j, len(p.full)))
		line = p.full[head:end]
	}
	if e.Start > head+len(line) {
		return nil
	}
	for i := 0; i < len(line); i++ {
		if c := line[i]; c != ';' && c != '\n' {
			continue
		}
		start := i + 1
		for start < len(line) && (isBlank(line[start]) || line[start] == '\n') {
			start++
		}
		end := identEnd(line, start)
		switch word := line[start:end]; word {
		case "then", "do":
			hint := "write `if cond { … } else { … }`; tests are expressions, as in `path(\"f\").exists`"
			if word == "do" {
				hint = "write `while cond { … }`"
			}
			return &Error{Span: Span{head + start, head + end}, Msg: "`" + word + "` is not shoal syntax", Hint: hint}
		}
	}
	return nil
}

// teachHead reports heads that are no commands anywhere.
func (p *parser) teachHead(t token) {
	after := p.skipBlank(t.end)
	switch p.text(t) {
	case "then", "fi", "do", "done", "esac", "elif":
		p.failShellWord(t)
	case "not":
		if c := p.at(after); after > t.end && c != 0 && strings.IndexByte("\n;)}", c) < 0 {
			p.fail(t.span(), "use `!`", "`!x`")
		}
	case "function", "def", "func", "fun", "sub":
		p.teachDefinition(t, after)
	case "case", "switch":
		p.teachCase(t, after)
	case "f", "r", "b", "u":
		if c := p.at(t.end); c == '"' || c == '\'' {
			p.fail(Span{t.start, t.end + 1}, "shoal has no `"+p.text(t)+"\"…\"`", "every double-quoted string has holes, \"{x}\"; '…' takes everything as it stands")
		}
	}
}

// teachDefinition reports `def f(a) …` and its like: a word before a name with
// parameters or a block.
func (p *parser) teachDefinition(t token, name int) {
	if name == t.end || !isIdentStart(p.at(name)) {
		return
	}
	end := identEnd(p.src, name)
	at := p.skipBlank(end)
	params := ""
	switch c := p.at(at); c {
	case '(', '[':
		if i := strings.IndexAny(p.src[at:], ")]\n"); i > 0 && i < maxHabitLine && p.src[at+i] != '\n' {
			params = strings.TrimSpace(p.src[at+1 : at+i])
		}
	case '{':
	default:
		if p.text(t) != "function" {
			return
		}
	}
	if !strings.Contains(params, ",") {
		fields := strings.Fields(strings.ReplaceAll(params, ": ", ":"))
		params = strings.ReplaceAll(strings.Join(fields, ", "), ":", ": ")
	}
	p.fail(t.span(), "functions are declared with fn", "write `fn "+p.src[name:end]+"("+params+") { … }`")
}

// teachCase reports `case x in` and `switch (x) {`.
func (p *parser) teachCase(t token, subject int) {
	line := p.src[subject:min(len(p.src), subject+maxHabitLine)]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	var found bool
	if p.text(t) == "case" {
		line, _, found = strings.Cut(line, " in")
	} else {
		line, _, found = strings.Cut(line, "{")
	}
	line = strings.Trim(line, "$\"() \t")
	if subject == t.end || !found || line == "" {
		return
	}
	p.fail(t.span(), "`"+p.text(t)+"` is not shoal syntax", "write `match "+line+" { \"a\" => …; _ => … }`")
}

// teachFunction reports `f() { … }` for an unbound f.
func (p *parser) teachFunction(t token) {
	open := p.skipBlank(t.end)
	i := p.skipLines(min(open+1, len(p.src)))
	if p.at(open) != '(' || p.at(i) != ')' || p.at(p.skipBlank(i+1)) != '{' {
		return
	}
	name := p.text(t)
	switch name {
	case "parallel", "retry", "on", "now", "today", "assert", "run", "save", "open", "range", "channel", "every", "watch", "tail":
		return
	}
	if p.names.lookup(name) == unbound {
		p.fail(t.span(), "functions are declared with fn", "write `fn "+name+"() { … }`")
	}
}

// terminator fails when a statement is followed by something else on its line.
func (p *parser) terminator(s Stmt, t token) {
	switch t.kind {
	case tBad:
		panic(t.bad)
	case tPipe:
		p.failPipe(t.span())
	case tAmp:
		p.failAmp(t.span())
	case tAssign, tPlusEq, tMinusEq, tStarEq, tSlashEq:
		p.failAssign(s, t)
	case tColon:
		p.fail(t.span(), "a record needs its own braces here", "write `{ {key: value} }` for a block whose value is a record")
	case tRParen, tRBracket, tRBrace:
		p.failf(t.span(), "unexpected `%s`", p.text(t))
	case tEq, tNe, tLt, tLe, tGt, tGe:
		p.failChain(t)
	case tIdent:
		p.teachWord(t)
	}
	hint := ""
	if e, ok := s.(*ExprStmt); ok {
		switch x := e.X.(type) {
		case *Name:
			hint = "`" + x.Name + "` is a variable; `^" + x.Name + "` runs a program of that name"
		case *Command:
			hint = p.bracesHint(x, t.start)
		}
	}
	p.fail(t.span(), "expected newline or ; between statements", hint)
}

// failChain reports the second of two comparisons.
func (p *parser) failChain(t token) {
	p.fail(t.span(), "comparison operators do not chain", "join them: `a < b && b < c`")
}

// failAssign reports an assignment to something that is no name.
func (p *parser) failAssign(s Stmt, t token) {
	if e, ok := s.(*ExprStmt); ok {
		switch x := e.X.(type) {
		case *Field:
			if n, ok := x.X.(*Name); ok {
				p.fail(t.span(), "cannot assign to a field or index", fmt.Sprintf("values do not change: `%s = %s.set(%q, …)`", n.Name, n.Name, x.Name))
			}
			p.fail(t.span(), "cannot assign to a field or index", "values do not change: `r = r.set(\"key\", …)`")
		case *Index:
			p.fail(t.span(), "cannot assign to a field or index", "values do not change: build a new one, as in `r = r.set(\"key\", …)`")
		}
	}
	p.fail(t.span(), "only a name can be assigned", "`==` compares")
}
