package syntax

import "strings"

// Brace expansion is a habit of other shells: a{b,c}d there means abd and acd.

// maxExpanded is how many words a hint about braces spells out.
const maxExpanded = 4

// expansion spells out the words that another shell would make of before{inner}after,
// or is "" when it would leave the text alone.
func expansion(before, inner, after string) string {
	if inner == "" || strings.ContainsAny(inner, "{}") {
		return ""
	}
	items := strings.Split(inner, ",")
	if first, last, ok := strings.Cut(inner, ".."); ok && len(items) == 1 && first != "" && last != "" {
		return before + first + after + " … " + before + last + after
	}
	if len(items) < 2 {
		return ""
	}
	var b strings.Builder
	for i, item := range items {
		switch {
		case i == maxExpanded:
			return b.String() + " …"
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(before + strings.TrimSpace(item) + after)
	}
	return b.String()
}

// bracesNote remarks on braces in the word of a command that started at start:
// they are text of it.
func (p *parser) bracesNote(start, open, length int) {
	end := open + length
	for end < len(p.src) && isWord(p.src[end]) {
		end++
	}
	if words := expansion(p.src[start:open], p.src[open+1:open+length-1], p.src[open+length:end]); words != "" {
		p.note(Span{start, end}, "brace_text", "`"+p.src[start:end]+"` is one word, braces and all; several are written out: `"+words+"`")
	}
}

// bracesHint is the hint for a word such as {a,b}.txt, whose braces were read as
// a block that ends at end.
func (p *parser) bracesHint(c *Command, end int) string {
	if c.Trailing == nil || c.Trailing.Span.End != end {
		return ""
	}
	stop := end
	for stop < len(p.src) && isWord(p.src[stop]) {
		stop++
	}
	at := c.Trailing.Span
	words := expansion("", p.src[at.Start+1:at.End-1], p.src[end:stop])
	if words == "" {
		return ""
	}
	return "braces are no expansion here: write the words out, as in `" + c.Head.Text + " " + words + "`"
}

// typographic are the quotes that editors and chats make of plain ones.
const typographic = "“”„‘’‚«»"

// quoteNote remarks on a word that begins with a typographic quote, which is
// text like any other.
func (p *parser) quoteNote(start int) {
	for _, q := range typographic {
		if strings.HasPrefix(p.src[start:], string(q)) {
			p.note(Span{start, start + len(string(q))}, "typographic_quote", "`"+string(q)+"` is text here; plain quotes make one argument: `\"…\"`")
			return
		}
	}
}

// forgetDollars takes back what was remarked on `$NAME` in a span: there it has
// a meaning.
func (p *parser) forgetDollars(at Span) {
	kept := p.notes[:0]
	for _, n := range p.notes {
		if n.Code != "dollar_in_string" || n.Start < at.Start || n.End > at.End {
			kept = append(kept, n)
		}
	}
	p.notes = kept
}

// isText reports whether an expression is a string as it stands.
func isText(e Expr) bool {
	l, ok := e.(*Literal)
	return ok && l.Kind == LitStr
}
