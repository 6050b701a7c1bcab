package syntax

import "strings"

func (p *printer) command(c *Command) {
	for _, e := range c.EnvPrefix {
		if !p.kept(e.Span) {
			p.put(e.Name, "=")
			p.parts(e.Value, false)
		}
		p.put(" ")
	}
	if c.Force {
		p.put("^")
	}
	if c.Interp != nil {
		p.put(c.Head.Text)
		if p.layout == nil {
			p.payload(c.Head.Text, c.Interp.Text)
		} else {
			p.kept(Span{c.Head.End, c.Interp.End})
		}
	} else {
		p.arg(&c.Head)
	}
	// In source order: what follows the head decides how the line is read.
	redirects := c.Redirects
	for i := range c.Args {
		for len(redirects) > 0 && redirects[0].Start < c.Args[i].Start {
			p.redirect(&redirects[0])
			redirects = redirects[1:]
		}
		p.put(" ")
		p.arg(&c.Args[i])
	}
	for i := range redirects {
		p.redirect(&redirects[i])
	}
	if c.Trailing != nil {
		if b := c.Trailing.Body.(*Block); c.plansCommand() {
			p.put(" ") // in a block its words might be read as something else
			p.stmt(b.Stmts[0])
		} else if len(b.Stmts) > 0 {
			p.put(" ")
			p.block(b)
		} else {
			p.put(" { }") // `{}` would be a word
		}
	}
	if c.Background {
		p.put(" &")
	}
}

func (p *printer) redirect(r *Redirect) {
	p.put(" ", r.Op, " ")
	p.arg(&r.Target)
}

// payload writes the block of an interpreter in the first form that reads back
// as the same text, in a hole also past the scan for the hole's end.
func (p *printer) payload(head, text string) {
	if text == "" {
		p.put(" {}")
		return
	}
	forms := []string{"'" + text + "'", "'''\n" + text + "\n'''", " {" + text + "}", " {\n" + text + "\n}"}
	for _, form := range forms[:len(forms)-1] {
		if readsAs(head, form, text) && (!p.inline || holeHolds(form)) {
			p.put(form)
			return
		}
	}
	p.put(forms[len(forms)-1])
}

// readsAs reports whether form is an interpreter block with that text.
func readsAs(head, form, text string) bool {
	if strings.HasPrefix(form, "'") {
		q, err := scanQuote(form, 0)
		return err == nil && q.end == len(form) && payloadText(form[q.open:q.close]) == text
	}
	end := payloadEnd(form, 1, interpreters[head])
	return end == len(form)-1 && payloadText(form[2:end]) == text
}

// holeHolds reports whether a hole with this text in it ends where it should.
func holeHolds(form string) bool {
	end, msg := holeEnd("{"+form+"}", 0, true)
	return msg == "" && end == len(form)+2
}

func (p *printer) arg(a *CmdArg) {
	if p.kept(a.Span) {
		return
	}
	switch a.Kind {
	case ArgDash, ArgDashDash, ArgShort:
		p.put(a.Text)
	case ArgLong:
		p.put("--", a.Flag)
		if a.HasValue {
			p.put("=")
			p.parts(a.Parts, false)
		}
	case ArgValue:
		p.put("(")
		p.expr(a.X)
		p.put(")")
	case ArgSpread:
		p.put("...(")
		p.expr(a.X)
		p.put(")")
	case ArgString:
		if a.Parts != nil {
			p.parts(a.Parts, false)
		} else {
			p.put(quoteString(a.Text))
		}
	default:
		if a.Parts != nil {
			p.parts(a.Parts, a.Kind == ArgGlob)
		} else {
			p.put(escapeWord(a.Text, a.Kind == ArgGlob))
		}
	}
}

func (p *printer) parts(list []WordPart, glob bool) {
	for i, part := range list {
		switch {
		case part.Quoted && part.X == nil && i == 1 && !list[0].Quoted && (list[0].Text == "re" || list[0].Text == "t"):
			// Touching a double quote it would be a regex or a datetime.
			p.put("''", quoteString(part.Text))
		case part.X != nil && part.Quoted:
			p.expr(part.X)
		case part.X != nil:
			p.put("(")
			p.expr(part.X)
			p.put(")")
		case part.Quoted:
			p.put(quoteString(part.Text))
		default:
			p.put(escapeWord(part.Text, glob))
		}
	}
}

// escapeWord writes unquoted text of a command; in a glob the pattern
// characters keep their meaning.
func escapeWord(s string, glob bool) string {
	special := ";&|<>(){}[]*?$\"'#\\` \t"
	if glob {
		special = ";&|<>(){}$\"'#\\` \t"
	}
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// plansCommand reports whether a command is `plan CMD`, without braces.
func (c *Command) plansCommand() bool {
	b := c.Trailing.Body.(*Block)
	return len(b.Stmts) == 1 && c.Trailing.End > 0 && b.Stmts[0].Pos() == c.Trailing.Span
}
