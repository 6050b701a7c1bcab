package syntax

import "strings"

func (p *printer) command(c *Command) {
	for _, e := range c.EnvPrefix {
		p.put(e.Name, "=")
		p.parts(e.Value, false)
		p.put(" ")
	}
	if c.Force {
		p.put("^")
	}
	if c.Interp != nil {
		p.put(c.Head.Text)
		p.payload(c.Interp.Text)
	} else {
		p.arg(&c.Head)
	}
	for i := range c.Args {
		p.put(" ")
		p.arg(&c.Args[i])
	}
	for i := range c.Redirects {
		p.put(" ", c.Redirects[i].Op, " ")
		p.arg(&c.Redirects[i].Target)
	}
	if c.Trailing != nil {
		p.put(" ")
		p.block(c.Trailing.Body.(*Block))
	}
	if c.Background {
		p.put(" &")
	}
}

// payload writes the block of an interpreter. Its text has no common
// indentation, so lines of its own bring it back unchanged.
func (p *printer) payload(text string) {
	switch {
	case text == "":
		p.put(" {}")
	case strings.Contains(text, "'''"):
		p.put(" {\n", text, "\n}")
	case !strings.ContainsAny(text, "\n'"):
		p.put("'", text, "'")
	default:
		p.put("'''\n", text, "\n'''")
	}
}

func (p *printer) arg(a *CmdArg) {
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
	for _, part := range list {
		switch {
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
