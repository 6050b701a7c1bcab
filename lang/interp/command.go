package interp

import (
	"io"

	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// command is a compiled command line.
type command struct {
	head      wordCode
	name      string // the head when it is one plain word
	bound     func(m *Machine) (value.Value, bool)
	force     bool
	payload   *syntax.Payload
	env       []envCode
	args      []wordCode
	redirects []redirectCode
	trailing  code
	pos       position
	span      syntax.Span
	src       string
}

type envCode struct {
	name  string
	parts []partCode
	span  syntax.Span
}

type redirectCode struct {
	op     string
	target wordCode
}

// command compiles a command line.
func (c *compiler) command(e *syntax.Command, pos position) code {
	if e.Background {
		return c.background(e)
	}
	cmd := c.commandParts(e)
	cmd.pos = pos
	return func(m *Machine) value.Value { return cmd.run(m, nil, value.Null, &streams{}, pos) }
}

func (c *compiler) commandParts(e *syntax.Command) *command {
	cmd := &command{
		head: c.word(&e.Head), force: e.Force, payload: e.Interp, args: c.words(e.Args),
		span: e.Span, src: c.text(e.Span),
	}
	if name, ok := resolve.HeadName(e); ok {
		cmd.name = name
		cmd.bound = c.boundHead(c.info.Refs[e])
	}
	for i := range e.EnvPrefix {
		p := &e.EnvPrefix[i]
		cmd.env = append(cmd.env, envCode{p.Name, c.parts(p.Value), p.Span})
	}
	for i := range e.Redirects {
		r := &e.Redirects[i]
		cmd.redirects = append(cmd.redirects, redirectCode{r.Op, c.word(&r.Target)})
	}
	if e.Trailing != nil {
		cmd.trailing = c.expr(e.Trailing, inValue)
	}
	return cmd
}

// boundHead is how a command finds the binding of its head's name.
func (c *compiler) boundHead(r *resolve.Ref) func(m *Machine) (value.Value, bool) {
	if r.Var != nil {
		load := c.load(r)
		return func(m *Machine) (value.Value, bool) { return load(m), true }
	}
	g, name := r.Global, r.Name
	return func(m *Machine) (value.Value, bool) {
		if cell := m.links.cells[g]; cell != nil {
			return m.load(cell), true
		}
		if cell := m.scope().cell(name); cell != nil && cell.lost != nil {
			m.raise(cell.lost, syntax.Span{})
		}
		return value.Null, false
	}
}

// streams are those of a call: what redirects and feeding set.
type streams struct {
	stdin   []byte
	input   io.Reader // instead of stdin, when it comes as it is made
	fed     bool
	targets []target
	source  string // of `<`
}

type target struct {
	path   string
	append bool
}

// run runs the command. More words, a block and redirects are what a call of
// an alias appends; they come after the command's own.
func (cmd *command) run(m *Machine, more []word, block value.Value, io *streams, pos position) value.Value {
	if len(cmd.env) > 0 {
		env, overlay := m.state.environment(), m.overlay
		defer func() {
			m.state.setEnvironment(env)
			m.overlay = overlay
		}()
		if !cmd.prefix(m) {
			return value.Null
		}
	}
	words, ok := m.words(cmd.args)
	if !ok {
		return value.Null
	}
	if cmd.trailing != nil && block.IsNull() {
		block = cmd.trailing(m)
	}
	var own streams
	if !m.redirects(cmd.redirects, &own) {
		return value.Null
	}
	io.targets = append(own.targets, io.targets...)
	if io.source == "" {
		io.source = own.source
	}
	return cmd.dispatch(m, append(words, more...), block, io, pos)
}

// prefix sets the variables of an env prefix.
func (cmd *command) prefix(m *Machine) bool {
	for i := range cmd.env {
		text, ok := m.joined(cmd.env[i].parts, cmd.env[i].span)
		if !ok {
			return false
		}
		if err := m.overlayEnv(cmd.env[i].name, value.Str(text)); err != nil {
			m.raise(err, cmd.env[i].span)
			return false
		}
	}
	return true
}

func (m *Machine) redirects(codes []redirectCode, io *streams) bool {
	for i := range codes {
		w, ok := m.word(&codes[i].target)
		if !ok {
			return false
		}
		text := w.Text
		if w.Kind == syntax.ArgValue {
			var err *value.Error
			if text, err = value.ArgvText(w.Value); err != nil {
				m.raise(err, w.Span)
				return false
			}
		}
		path := m.Abs(text)
		if codes[i].op == "<" {
			io.source = path
		} else {
			io.targets = append(io.targets, target{path, codes[i].op == ">>"})
		}
	}
	return true
}

// dispatch finds what the head names: a callable binding, another binding, a
// builtin, a program.
func (cmd *command) dispatch(m *Machine, words []word, block value.Value, io *streams, pos position) value.Value {
	if cmd.payload != nil {
		return m.interpreter(cmd.head.text, cmd.payload.Text, words, io, cmd.span, pos)
	}
	head, ok := m.word(&cmd.head)
	if !ok {
		return value.Null
	}
	name := head.Text
	if head.Kind == syntax.ArgValue {
		name = lossyArgv(head.Value)
	}
	if cmd.bound != nil {
		v, bound := cmd.bound(m)
		if m.ctl != running {
			return value.Null
		}
		if bound {
			if f, ok := m.callable(v); ok {
				return m.callWords(f, words, block, io, cmd.span)
			}
			if a, ok := aliasOf(v); ok && a.cmd != cmd { // one that names itself means what is behind the name
				return m.aliased(a, words, block, io, pos)
			}
			if !cmd.force && len(words) == 0 && block.IsNull() {
				return m.redirected(v, io, cmd.span)
			}
		}
	}
	if cmd.force && ReadsInput(name, len(words)) && block.IsNull() {
		return m.external([]string{name}, words, name, head.Kind, io, cmd.span, pos)
	}
	return m.runHead(name, head.Kind, words, block, io, cmd.span, pos)
}

// BlockHint says what was meant by a block after a command that takes none.
func BlockHint(words []Word) string {
	for _, w := range words {
		if w.Text == "catch" {
			return "in a command `catch` is a word; parentheses end the command before it: `(cmd) catch e { … }`"
		}
	}
	return "braces are no expansion here: write the words out, or splice a list with `...(xs)`"
}

func blockHint(words []word) string {
	plain := make([]Word, len(words))
	for i := range words {
		plain[i] = words[i].Word
	}
	return BlockHint(plain)
}

// ReadsInput reports whether a forced head is the program of its name although
// there is a builtin: `^cat` without arguments, which copies its input and for
// which the builtin has no meaning.
func ReadsInput(head string, args int) bool { return head == "cat" && args == 0 }

// runNamed runs a command by name, as an expression call of an unbound name
// does.
func (m *Machine) runNamed(name string, words []word, block value.Value, pos position, span syntax.Span) value.Value {
	return m.runHead(name, syntax.ArgWord, words, block, &streams{}, span, pos)
}

// runHead runs a builtin head or a program.
func (m *Machine) runHead(name string, kind syntax.ArgKind, words []word, block value.Value, io *streams, span syntax.Span, pos position) value.Value {
	reads := io.fed || io.source != "" // only programs read input
	if !reads && (kind == syntax.ArgWord || kind == syntax.ArgString) {
		if row := m.lib.Head(name); row != nil {
			return m.builtin(row, name, words, block, io, span, pos)
		}
	}
	if IsScript(name) && kind != syntax.ArgValue {
		return m.scriptHead(name, words, block, io, span)
	}
	if !block.IsNull() {
		if hint := hintElsewhere(name); hint != "" {
			if _, err := m.lookPath(name); err != nil {
				return m.raise(m.notFound(name, words), span)
			}
		}
		return m.raise(value.Errorf(value.CodeType, "`%s` is a program and takes no block", name).
			WithHint("%s", blockHint(words)), span)
	}
	argv, err := m.argv(words)
	if err != nil {
		return m.raise(err, span)
	}
	return m.external(append([]string{name}, argv...), words, commandText(name, words), kind, io, span, pos)
}

// builtin runs a head of the library. A structured one gives an outcome; a
// redirected one null.
func (m *Machine) builtin(row *Head, name string, words []word, block value.Value, io *streams, span syntax.Span, pos position) value.Value {
	written := len(words)
	words, err := m.expanded(words)
	if err != nil {
		return m.raise(err, span)
	}
	call := &HeadCall{
		M: m, Name: name, Words: make([]Word, len(words)), Block: block, Span: span,
		Unmatched: len(words) < written,
	}
	for i := range words {
		call.Words[i] = words[i].Word
	}
	if !m.poll() {
		return value.Null
	}
	m.leaveCells()
	v, rerr := row.Run(call)
	m.enterCells()
	v = m.result(v, rerr, span)
	if m.ctl != running {
		return value.Null
	}
	if row.Runs && v.Kind() == value.KindOutcome && !v.AsOutcome().HasOut {
		return m.ranProgram(v.AsOutcome(), io, pos, span)
	}
	if len(io.targets) > 0 {
		return m.redirected(printedBy(v), io, span)
	}
	if !row.Structured {
		return v
	}
	status := 0
	return value.NewOutcome(&value.Outcome{
		OK: true, Status: &status, HasOut: true, Out: v, Cmd: commandText(name, words),
		Span: &value.Span{Start: span.Start, End: span.End},
	})
}

// ranProgram is the outcome of a program that a row of the library ran: it
// raises, and is redirected, as that of any program.
func (m *Machine) ranProgram(o *value.Outcome, io *streams, pos position, span syntax.Span) value.Value {
	if len(io.targets) > 0 {
		if m.redirected(o.Stdout, io, span); m.ctl != running {
			return value.Null
		}
		o = &value.Outcome{
			OK: o.OK, Status: o.Status, Signal: o.Signal, Stderr: o.Stderr,
			Dur: o.Dur, PID: o.PID, Cmd: o.Cmd, Span: o.Span,
		}
		value.NewOutcome(o)
	}
	if !o.OK && m.raises(pos) {
		return m.raise(o.Fail(), span)
	}
	return o.Value()
}

// redirected writes a value that is no program's output to the redirect
// targets; without any it is the value itself.
func (m *Machine) redirected(v value.Value, io *streams, span syntax.Span) value.Value {
	if len(io.targets) == 0 {
		return v
	}
	for _, t := range io.targets {
		if err := m.writeValue(t, v); err != nil {
			return m.raise(err, span)
		}
	}
	return value.Null
}

// callWords calls a function in command form: words are converted to the types
// of its parameters.
func (m *Machine) callWords(f *Func, words []word, block value.Value, io *streams, span syntax.Span) value.Value {
	if io.source != "" || io.fed {
		return m.fail(span, value.CodeArg, "a function reads no input")
	}
	b := binder{m: m, fc: f.code}
	if b.help(words) {
		m.Sink(value.Str(f.code.usage()))
		return value.Null
	}
	if err := b.bind(words); err != nil {
		return m.raise(err, span)
	}
	if !block.IsNull() {
		b.pos = append(b.pos, block)
	}
	v := m.apply(f, b.pos, b.named, span)
	if m.ctl != running {
		return value.Null
	}
	return m.redirected(v, io, span)
}

// usage is what --help prints: the signature and the comment above the
// function.
func (fc *funcCode) usage() string {
	sig := syntax.Signature(fc.name, fc.lambda)
	if fc.doc == "" {
		return sig
	}
	return sig + "\n" + fc.doc
}
