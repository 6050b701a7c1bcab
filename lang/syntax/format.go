package syntax

import (
	"slices"
	"strings"
)

// Format lays source out in the house form: a statement a line, two blanks for
// a level, at most one empty line in a row. Comments stay where they are, and
// so do strings, words and payloads; an expression that is spread over several
// lines keeps its lines. The result means the same, and formatting it again
// changes nothing. Source that no such text can be given for is returned as it
// is.
func Format(src string) (string, *Error) {
	text := strings.ReplaceAll(strings.TrimPrefix(src, "\ufeff"), "\r\n", "\n")
	prog, err := Parse(text, Names{})
	if err != nil {
		return "", err
	}
	out := layOut(prog, text)
	again, err := Parse(out, Names{})
	if err != nil || !Equal(prog, again) || !slices.Equal(commentTexts(prog, text), commentTexts(again, out)) {
		return src, nil
	}
	if layOut(again, out) != out {
		return src, nil
	}
	return out, nil
}

func layOut(prog *Program, src string) string {
	p := &printer{layout: &layout{src: src, comments: comments(prog, src)}}
	p.items(0, len(src), true, len(prog.Stmts), func(i int) Span { return prog.Stmts[i].Pos() },
		func(i int) Node { return prog.Stmts[i] }, func(i int) { p.stmt(prog.Stmts[i]) })
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
	return p.b.String()
}

// layout is what a printer knows of the source whose layout it keeps.
type layout struct {
	src      string
	comments []Span
	next     int // the first comment that is not written yet
	last     int // where in src what was written last ends
}

// kept writes a piece of the source as it stands there; false when the printer
// has no source.
func (p *printer) kept(at Span) bool {
	if p.layout == nil {
		return false
	}
	p.put(p.layout.src[at.Start:at.End])
	return true
}

// items writes what stands between from and to in the source, one item a line,
// with the comments round it. top says that this is the whole source.
func (p *printer) items(from, to int, top bool, n int, at func(int) Span, node func(int) Node, write func(int)) {
	l := p.layout
	l.last = from
	begun := false
	begin := func(pos int) {
		if begun {
			if strings.Count(l.src[l.last:pos], "\n") > 1 {
				p.put("\n")
			}
		}
		if begun || !top {
			p.line()
		}
		begun = true
	}
	comments := func(until int) {
		for l.next < len(l.comments) && l.comments[l.next].Start < until {
			c := l.comments[l.next]
			begin(c.Start)
			p.kept(c)
			l.last = c.End
			l.next++
		}
	}
	if !top {
		until := to
		if n > 0 {
			until = at(0).Start
		}
		p.remark(until)
	}
	for i := range n {
		span := at(i)
		comments(span.Start)
		if i > 0 && afterItem(node(i)) {
			p.put(";")
		}
		begin(span.Start)
		p.item(span, func() { write(i) })
		until := to
		if i+1 < n {
			until = at(i + 1).Start
		}
		p.remark(until)
	}
	comments(to)
}

// remark writes the comment that stands on the line on which what was written
// last ends, if there is one before until.
func (p *printer) remark(until int) {
	l := p.layout
	if l.next >= len(l.comments) {
		return
	}
	c := l.comments[l.next]
	if c.Start >= until || strings.Contains(l.src[l.last:c.Start], "\n") {
		return
	}
	p.put(" ")
	p.kept(c)
	l.last = c.End
	l.next++
}

// afterItem reports whether a line that starts with n would belong to what
// stands above it.
func afterItem(n Node) bool {
	word := firstWord(n)
	word = word[:identEnd(word, 0)]
	return word == "catch" || word == "else"
}

// item writes one item in its canonical form, or as it stands when comments lie
// within its expressions or they are spread over more lines than that form has.
func (p *printer) item(at Span, write func()) {
	l := p.layout
	mark := p.b.Len()
	write()
	inside := l.next < len(l.comments) && l.comments[l.next].Start < at.End
	if src := l.src[at.Start:at.End]; inside || lines(src) > lines(string(p.b.Bytes()[mark:])) {
		p.b.Truncate(mark)
		p.put(p.shifted(at))
		for l.next < len(l.comments) && l.comments[l.next].Start < at.End {
			l.next++
		}
	}
	l.last = at.End
}

// lines counts the lines that are not empty.
func lines(s string) int {
	n := 0
	for line := range strings.SplitSeq(s, "\n") {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// shifted is a piece of the source moved to the present level: its further
// lines keep their place relative to the first one.
func (p *printer) shifted(at Span) string {
	src := p.layout.src
	text := strings.TrimRight(src[at.Start:at.End], " \t\n")
	bol := strings.LastIndexByte(src[:at.Start], '\n') + 1
	delta := 2*p.indent - margin(src[bol:])
	if delta == 0 || strings.Contains(text, "'''") || strings.Contains(text, `"""`) || holdsPayload(text) {
		return text
	}
	all := strings.Split(text, "\n")
	for i, line := range all[1:] {
		body := strings.TrimLeft(line, " \t")
		if body == "" {
			all[i+1] = ""
			continue
		}
		all[i+1] = strings.Repeat(" ", max(0, margin(line)+delta)) + body
	}
	return strings.Join(all, "\n")
}

// margin is the width of a line's leading blanks; a tab counts two.
func margin(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 2
		default:
			return n
		}
	}
	return n
}

// holdsPayload reports whether an interpreter's name stands in text, whose
// block must not be moved.
func holdsPayload(text string) bool {
	for name := range interpreters {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// comments finds the comments of a source: what starts with # outside the
// pieces of text that the tree holds.
func comments(prog *Program, src string) []Span {
	texts := textSpans(prog)
	var out []Span
	at := 0
	for i := 0; i < len(src); {
		for at < len(texts) && texts[at].End <= i {
			at++
		}
		switch {
		case at < len(texts) && texts[at].Start <= i:
			i = texts[at].End
		case src[i] == '#':
			end := i
			for end < len(src) && src[end] != '\n' {
				end++
			}
			out = append(out, Span{i, i + len(strings.TrimRight(src[i:end], " \t\r"))})
			i = end
		default:
			i++
		}
	}
	return out
}

func commentTexts(prog *Program, src string) []string {
	var out []string
	for _, c := range comments(prog, src) {
		out = append(out, src[c.Start:c.End])
	}
	return out
}

// textSpans are the places of strings, command words and payloads, in order.
func textSpans(prog *Program) []Span {
	var out []Span
	add := func(at Span) {
		if at.End > at.Start {
			out = append(out, at)
		}
	}
	Walk(prog, func(n Node) bool {
		switch n := n.(type) {
		case *Literal:
			add(n.Span)
		case *Interp:
			add(n.Span)
			return false
		case *Use:
			add(n.Target.Span)
		case *Record:
			for _, f := range n.Fields {
				add(f.KeyAt)
			}
		case *Match:
			for _, a := range n.Arms {
				for _, pat := range a.Pats {
					add(pat.Pos())
				}
			}
		case *Command:
			commandTexts(n, add)
			return n.Trailing != nil
		}
		return true
	})
	slices.SortFunc(out, func(a, b Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	return out
}

func commandTexts(c *Command, add func(Span)) {
	for _, e := range c.EnvPrefix {
		add(e.Span)
	}
	add(c.Head.Span)
	if c.Interp != nil {
		add(c.Interp.Span)
	}
	for _, a := range c.Args {
		add(a.Span)
	}
	for _, r := range c.Redirects {
		add(r.Target.Span)
	}
}

// laidBlock writes a block with its comments.
func (p *printer) laidBlock(b *Block) {
	l := p.layout
	if len(b.Stmts) == 0 && (l.next >= len(l.comments) || l.comments[l.next].Start >= b.End) {
		p.put("{}")
		return
	}
	p.put("{")
	p.indent++
	p.items(b.Start+1, b.End-1, false, len(b.Stmts), func(i int) Span { return b.Stmts[i].Pos() },
		func(i int) Node { return b.Stmts[i] }, func(i int) { p.stmt(b.Stmts[i]) })
	p.indent--
	p.line()
	p.put("}")
}

// bareBlock reports whether a block follows the name of a method that ends at
// pos without parentheses.
func (p *printer) bareBlock(pos int, block *Lambda) bool {
	return p.layout != nil && strings.TrimSpace(p.layout.src[pos:block.Start]) == ""
}
