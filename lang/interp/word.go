package interp

import (
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// word is an evaluated command word. A glob is expanded only where the command
// wants that.
type word struct {
	Word
	glob *value.Glob
}

// wordCode is a compiled command word.
type wordCode struct {
	kind     syntax.ArgKind
	text     string
	flag     string
	hasValue bool
	parts    []partCode
	x        code
	span     syntax.Span
}

type partCode struct {
	text   string
	quoted bool
	x      code
}

func (c *compiler) word(a *syntax.CmdArg) wordCode {
	w := wordCode{kind: a.Kind, text: a.Text, flag: a.Flag, hasValue: a.HasValue, span: a.Span, parts: c.parts(a.Parts)}
	if a.X != nil {
		w.x = c.expr(a.X, inValue)
	}
	return w
}

func (c *compiler) parts(parts []syntax.WordPart) []partCode {
	if parts == nil {
		return nil
	}
	out := make([]partCode, len(parts))
	for i, p := range parts {
		out[i] = partCode{text: p.Text, quoted: p.Quoted}
		if p.X != nil {
			out[i].x = c.expr(p.X, inValue)
		}
	}
	return out
}

func (c *compiler) words(args []syntax.CmdArg) []wordCode {
	out := make([]wordCode, len(args))
	for i := range args {
		out[i] = c.word(&args[i])
	}
	return out
}

// words evaluates the words of a command; a spread becomes one word per
// element.
func (m *Machine) words(codes []wordCode) ([]word, bool) {
	out := make([]word, 0, len(codes))
	for i := range codes {
		w := &codes[i]
		if w.kind == syntax.ArgSpread {
			spread, ok := m.spread(w)
			if !ok {
				return nil, false
			}
			out = append(out, spread...)
			continue
		}
		evaluated, ok := m.word(w)
		if !ok {
			return nil, false
		}
		out = append(out, evaluated)
	}
	return out, true
}

func (m *Machine) word(w *wordCode) (word, bool) {
	out := word{Word: Word{Kind: w.kind, Text: w.text, Flag: w.flag, Span: w.span}}
	switch w.kind {
	case syntax.ArgValue:
		out.Value, out.Has = w.x(m), true
		return out, m.ctl == running
	case syntax.ArgLong:
		return out, m.flagValue(w, &out)
	case syntax.ArgGlob:
		pattern, ok := m.pattern(w)
		if !ok {
			return out, false
		}
		out.Text = pattern
		out.glob = &value.Glob{Pattern: pattern, Cwd: m.Cwd()}
		return out, true
	}
	if w.parts != nil {
		text, ok := m.joined(w.parts, w.span)
		if !ok {
			return out, false
		}
		out.Text = text
	}
	if w.kind == syntax.ArgPath {
		if len(w.parts) == 0 || !w.parts[0].quoted && w.parts[0].x == nil {
			out.Text = m.expandHome(out.Text)
		}
		out.Value, out.Has = value.Path(out.Text), true
	}
	return out, true
}

// flagValue evaluates what stands after the "=" of a long flag. One (expr) alone
// keeps its value; everything else is text.
func (m *Machine) flagValue(w *wordCode, out *word) bool {
	if !w.hasValue {
		return true
	}
	out.Has = true
	if len(w.parts) == 1 && w.parts[0].x != nil && !w.parts[0].quoted {
		v := w.parts[0].x(m)
		if m.ctl != running {
			return false
		}
		out.Value = v
		if out.Text == "" {
			out.Text = "--" + w.flag + "=" + lossyArgv(v)
		}
		return true
	}
	text, ok := m.joined(w.parts, w.span)
	if !ok {
		return false
	}
	out.Value = value.Str(text)
	if out.Text == "" {
		out.Text = "--" + w.flag + "=" + text
	}
	return true
}

// lossyArgv is v as argv text, or its inline form where it has none.
func lossyArgv(v value.Value) string {
	if text, err := value.ArgvText(v); err == nil {
		return text
	}
	return value.Inline(v)
}

// joined is the text of touching pieces.
func (m *Machine) joined(parts []partCode, span syntax.Span) (string, bool) {
	var b strings.Builder
	for i := range parts {
		text, ok := m.part(&parts[i], span)
		if !ok {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func (m *Machine) part(p *partCode, span syntax.Span) (string, bool) {
	if p.x == nil {
		return p.text, true
	}
	v := p.x(m)
	if m.ctl != running {
		return "", false
	}
	text, err := value.ArgvText(v)
	if err != nil {
		m.raise(err, span)
		return "", false
	}
	return text, true
}

// pattern is the pattern of a glob word, in which quoted and computed pieces
// match literally.
func (m *Machine) pattern(w *wordCode) (string, bool) {
	if w.parts == nil {
		return m.expandHome(w.text), true
	}
	var b strings.Builder
	for i := range w.parts {
		p := &w.parts[i]
		text, ok := m.part(p, w.span)
		if !ok {
			return "", false
		}
		switch {
		case p.quoted || p.x != nil:
			text = quoteGlob(text)
		case i == 0:
			text = closedClasses(m.expandHome(text))
		default:
			text = closedClasses(text)
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// closedClasses keeps a `[` that no `]` of the same piece closes from reaching
// into the pieces that follow.
func closedClasses(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '[')
		if i < 0 {
			break
		}
		b.WriteString(text[:i])
		text = text[i:]
		if end := classEnd(text); end > 0 {
			b.WriteString(text[:end+1])
			text = text[end+1:]
		} else {
			b.WriteString("[[]")
			text = text[1:]
		}
	}
	return b.String() + text
}

// quoteGlob makes a pattern that matches only text.
func quoteGlob(text string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(text)
}

// maxSpread is how many arguments a splice may give: more than a system passes
// to a program.
const maxSpread = 1 << 20

func tooManyArguments() *value.Error {
	return value.Errorf(value.CodeOverflow, "a command has at most %d arguments", maxSpread).
		WithHint("pass the data on stdin with feed, or in parts: `for part in xs.chunks(1000) { … }`")
}

// spread evaluates `...(x)`.
func (m *Machine) spread(w *wordCode) ([]word, bool) {
	v := w.x(m)
	if m.ctl != running {
		return nil, false
	}
	if v.Kind() == value.KindRange && v.AsRange().Len() > maxSpread {
		m.raise(tooManyArguments(), w.span)
		return nil, false
	}
	items, err := m.elements(v)
	if err == nil && len(items) > maxSpread {
		err = tooManyArguments()
	}
	if err != nil {
		m.raise(err, w.span)
		return nil, false
	}
	out := make([]word, len(items))
	for i, item := range items {
		out[i].Word = Word{Kind: syntax.ArgValue, Value: item, Has: true, Span: w.span}
	}
	return out, true
}

// elements are the items of any finite collection.
func (m *Machine) elements(v value.Value) ([]value.Value, error) {
	switch v.Kind() {
	case value.KindOutcome:
		out, err := v.AsOutcome().OutValue()
		if err != nil {
			return nil, err
		}
		if out.Kind() == value.KindOutcome {
			break
		}
		return m.elements(out)
	case value.KindStream:
		return m.Collect(v.AsStream(), "a splice")
	case value.KindList, value.KindTable:
		return sequenceItems(v), nil
	case value.KindRange:
		r := v.AsRange()
		if r.Len() > MaxItems {
			return nil, overflow("sequence")
		}
		items := make([]value.Value, r.Len())
		for i := range items {
			items[i] = value.Int(r.Start + int64(i))
		}
		return items, nil
	case value.KindGlob:
		paths, err := m.Expand(v.AsGlob())
		if err != nil {
			return nil, err
		}
		return pathValues(paths), nil
	}
	return nil, notIterable(v)
}

func pathValues(paths []string) []value.Value {
	out := make([]value.Value, len(paths))
	for i, p := range paths {
		out[i] = value.Path(p)
	}
	return out
}

// expanded replaces glob words by the paths they match.
func (m *Machine) expanded(words []word) ([]word, error) {
	hasGlob := false
	for i := range words {
		hasGlob = hasGlob || words[i].glob != nil
	}
	if !hasGlob {
		return words, nil
	}
	var out []word
	for _, w := range words {
		if w.glob == nil {
			out = append(out, w)
			continue
		}
		paths, err := m.Expand(w.glob)
		if err != nil {
			return nil, err
		}
		for _, p := range paths {
			out = append(out, word{Word: Word{Kind: syntax.ArgPath, Text: p, Value: value.Path(p), Has: true, Span: w.Span}})
		}
	}
	return out, nil
}

// argv is the words as a program gets them.
func (m *Machine) argv(words []word) ([]string, error) {
	words, err := m.expanded(words)
	if err != nil {
		return nil, err
	}
	out := make([]string, 0, len(words)+1)
	for i := range words {
		w := &words[i]
		text := w.Text
		switch {
		case w.Kind == syntax.ArgValue && w.Value.Kind() == value.KindGlob:
			paths, err := m.Expand(w.Value.AsGlob())
			if err != nil {
				return nil, err
			}
			out = append(out, paths...)
			continue
		case w.Kind == syntax.ArgValue, w.Kind == syntax.ArgLong && w.Has && w.Value.Kind() != value.KindStr:
			var verr *value.Error
			if text, verr = value.ArgvText(w.Value); verr != nil {
				return nil, verr.WithSpan(value.Span{Start: w.Span.Start, End: w.Span.End})
			}
			if w.Kind == syntax.ArgLong {
				text = "--" + w.Flag + "=" + text
			}
		case w.Kind == syntax.ArgLong && w.Has && text == "--"+w.Flag:
			text += "=" + w.Value.AsStr()
		}
		if strings.IndexByte(text, 0) >= 0 {
			return nil, value.Errorf(value.CodeArg, "an argument cannot hold a NUL byte")
		}
		out = append(out, text)
	}
	return out, nil
}

// commandMost is how many bytes of a command are shown.
const commandMost = 64 << 10

// commandText is a command as outcomes show it. The end of a long one is left
// out.
func commandText(head string, words []word) string {
	var b strings.Builder
	b.WriteString(head)
	for i := range words {
		text := words[i].Text
		if words[i].Kind == syntax.ArgValue {
			text = lossyArgv(words[i].Value)
		}
		if b.Len()+1+len(text) > commandMost {
			return value.Clip(b.String()+" "+text[:min(len(text), commandMost)], commandMost-len("…")) + "…"
		}
		b.WriteByte(' ')
		b.WriteString(text)
	}
	return b.String()
}
