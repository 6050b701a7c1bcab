package syntax

import (
	"bytes"
	"strconv"
	"strings"
)

// Print writes a tree in canonical form: parsing the result with the same names
// gives an equal tree. Comments other than those above a fn are not kept.
func Print(prog *Program) string {
	p := &printer{}
	for i, s := range prog.Stmts {
		if i > 0 {
			p.separate(s)
		}
		p.stmt(s)
	}
	if p.b.Len() > 0 {
		p.b.WriteByte('\n')
	}
	return p.b.String()
}

// printer writes nodes. Parentheses are nodes of the tree, so it never has to
// decide about precedence.
type printer struct {
	b      bytes.Buffer
	indent int
	inline bool    // inside a hole: statements on one line where possible
	layout *layout // of the source that is laid out anew; nil: none is at hand
}

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// line starts a new line.
func (p *printer) line() {
	p.b.WriteByte('\n')
	for range p.indent {
		p.b.WriteString("  ")
	}
}

// separate ends a statement before next. A line that starts with catch or else
// would belong to the statement above it.
func (p *printer) separate(next Node) {
	word := firstWord(next)
	word = word[:identEnd(word, 0)]
	if word == "catch" || word == "else" || p.inline {
		p.put(";")
	}
	if p.inline {
		p.put(" ")
		return
	}
	p.line()
}

// firstWord is the name that a statement or pattern starts with, or "".
func firstWord(n Node) string {
	for {
		switch x := n.(type) {
		case *ExprStmt:
			n = x.X
		case *Assign:
			return x.Name
		case *Command:
			if len(x.EnvPrefix) > 0 {
				return x.EnvPrefix[0].Name
			}
			if x.Force {
				return ""
			}
			return x.Head.Text
		case *Name:
			return x.Name
		case *Lambda:
			if len(x.Params) == 0 {
				return ""
			}
			return x.Params[0].Name
		case *PatBind:
			if x.Type != "" {
				return x.Type
			}
			return x.Name
		case *Field:
			n = x.X
		case *Method:
			n = x.X
		case *Index:
			n = x.X
		case *Call:
			n = x.Fn
		case *Binary:
			n = x.L
		case *Catch:
			n = x.X
		default:
			return ""
		}
	}
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Let:
		p.export(s.Export)
		if s.Mutable {
			p.put("var ", s.Name)
		} else {
			p.put("let ", s.Name)
		}
		p.typed(s.Type)
		p.put(" = ")
		p.expr(s.Value)
	case *Fn:
		p.doc(s.Doc)
		p.export(s.Export)
		p.signature(s.Name, s.Func)
		p.put(" ")
		p.block(s.Func.Body.(*Block))
	case *Alias:
		p.put("alias ", s.Name, " = ")
		p.command(s.Cmd)
	case *Use:
		p.put("use ")
		p.arg(&s.Target)
	case *For:
		p.put("for ", s.Name, " in ")
		p.expr(s.Iter)
		p.put(" ")
		p.block(s.Body)
	case *While:
		p.put("while ")
		p.expr(s.Cond)
		p.put(" ")
		p.block(s.Body)
	case *Return:
		p.put("return")
		if s.Value != nil {
			p.put(" ")
			p.expr(s.Value)
		}
	case *Break:
		p.put("break")
	case *Continue:
		p.put("continue")
	case *Assign:
		if s.Env {
			p.put("env.")
		}
		p.put(s.Name, " ", s.Op, " ")
		p.expr(s.Value)
	case *ExprStmt:
		p.expr(s.X)
	}
}

func (p *printer) export(yes bool) {
	if yes {
		p.put("export ")
	}
}

// doc writes the comment above a fn.
func (p *printer) doc(text string) {
	if text == "" || p.layout != nil {
		return // where there is a source the comment comes with it
	}
	if p.inline {
		p.line()
	}
	for l := range strings.SplitSeq(text, "\n") {
		p.put(strings.TrimRight("# "+l, " "))
		p.line()
	}
}

// Signature is a function's declaration without its body, on one line:
// "fn name(a: int, b = 1) -> str".
func Signature(name string, l *Lambda) string {
	p := &printer{inline: true}
	p.signature(name, l)
	return p.b.String()
}

func (p *printer) signature(name string, l *Lambda) {
	p.put("fn ", name)
	p.params(l.Params)
	if l.Ret != nil {
		p.put(" -> ")
		p.typ(l.Ret)
	}
}

func (p *printer) typed(t *Type) {
	if t != nil {
		p.put(": ")
		p.typ(t)
	}
}

func (p *printer) typ(t *Type) {
	p.put(t.Name)
	for i, a := range t.Args {
		if i == 0 {
			p.put("<")
		} else {
			p.put(", ")
		}
		p.typ(a)
	}
	if len(t.Args) > 0 {
		p.put(">")
	}
	if t.Optional {
		p.put("?")
	}
}

func (p *printer) params(list []Param) {
	p.put("(")
	for i, param := range list {
		if i > 0 {
			p.put(", ")
		}
		if param.Rest {
			p.put("...")
		}
		p.put(param.Name)
		p.typed(param.Type)
		if param.Default != nil {
			p.put(" = ")
			p.expr(param.Default)
		}
	}
	p.put(")")
}

// block writes a block where only a block can stand.
func (p *printer) block(b *Block) {
	if p.layout != nil {
		p.laidBlock(b)
		return
	}
	if len(b.Stmts) == 0 {
		p.put("{}")
		return
	}
	p.put("{")
	p.indent++
	for i, s := range b.Stmts {
		switch {
		case i > 0:
			p.separate(s)
		case p.inline:
			p.put(" ")
		default:
			p.line()
		}
		p.stmt(s)
	}
	p.indent--
	if p.inline {
		p.put(" }")
		return
	}
	p.line()
	p.put("}")
}

func (p *printer) pattern(pat Pattern) {
	switch pat := pat.(type) {
	case *PatAny:
		p.put("_")
	case *PatBind:
		if pat.Type != "" {
			p.put(pat.Type, " ")
		}
		p.put(pat.Name)
	case *PatLit:
		if !p.kept(pat.Span) {
			p.literal(pat.Lit)
		}
	case *PatRange:
		op := ".."
		if pat.Inclusive {
			op = "..="
		}
		p.put(strconv.FormatInt(pat.Start, 10), op, strconv.FormatInt(pat.End, 10))
	case *PatRecord:
		p.put("{")
		for i, f := range pat.Fields {
			if i > 0 {
				p.put(", ")
			}
			p.put(f.Name)
			if f.Pat != nil {
				p.put(": ")
				p.pattern(f.Pat)
			}
		}
		p.put("}")
	case *PatList:
		p.put("[")
		for i, item := range pat.Items {
			if i > 0 {
				p.put(", ")
			}
			p.pattern(item)
		}
		if pat.HasRest {
			if len(pat.Items) > 0 {
				p.put(", ")
			}
			p.put("...", pat.Rest)
		}
		p.put("]")
	}
}
