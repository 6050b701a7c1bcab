package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Literal:
		p.literal(x)
	case *Interp:
		p.interp(x)
	case *Name:
		if x.Name != ImplicitParam {
			p.put(x.Name)
		}
	case *List:
		p.put("[")
		p.exprs(x.Items)
		p.put("]")
	case *Record:
		p.fields("{", x.Fields, "}")
	case *Block:
		if len(x.Stmts) == 0 {
			p.put("{;}") // `{}` would be a record
			return
		}
		p.openBlock(x)
	case *Paren:
		p.put("(")
		p.expr(x.X)
		p.put(")")
	case *If:
		p.ifExpr(x)
	case *Match:
		p.match(x)
	case *Try:
		p.put("try ")
		p.block(x.Body)
		p.put(" catch ")
		if x.Binder != "" {
			p.put(x.Binder, " ")
		}
		p.block(x.Handler)
	case *Catch:
		p.catch(x)
	case *With:
		p.fields("with ", x.Entries, " ")
		p.block(x.Body)
	case *Spawn:
		p.put("spawn ")
		p.block(x.Body)
	case *Unary:
		p.put(x.Op)
		p.expr(x.X)
	case *Binary:
		p.binary(x)
	default:
		p.postfix(x)
	}
}

func (p *printer) postfix(x Expr) {
	switch x := x.(type) {
	case *Field:
		p.member(x.X, x.Safe, x.Name)
	case *Method:
		p.member(x.X, x.Safe, x.Name)
		p.args(x.NamePos.End, x.Args)
	case *Index:
		p.base(x.X)
		p.put("[")
		p.expr(x.I)
		p.put("]")
	case *Call:
		p.base(x.Fn)
		p.args(x.Fn.Pos().End, x.Args)
	case *Lambda:
		p.lambda(x)
	case *Command:
		p.command(x)
	}
}

func (p *printer) exprs(list []Expr) {
	for i, x := range list {
		if i > 0 {
			p.put(", ")
		}
		p.expr(x)
	}
}

func (p *printer) fields(open string, list []RecordField, close string) {
	p.put(open)
	for i, f := range list {
		if i > 0 {
			p.put(", ")
		}
		if n, ok := f.Value.(*Name); ok && p.layout != nil && len(list) > 1 && n.Span == f.KeyAt {
			p.put(n.Name)
			continue
		}
		if isName(f.Key) {
			p.put(f.Key)
		} else {
			p.put(quoteString(f.Key))
		}
		p.put(": ")
		p.expr(f.Value)
	}
	p.put(close)
}

func (p *printer) ifExpr(x *If) {
	for {
		p.put("if ")
		p.expr(x.Cond)
		p.put(" ")
		p.block(x.Then)
		switch e := x.Else.(type) {
		case *If:
			p.put(" else ")
			x = e
			continue
		case *Block:
			p.put(" else ")
			p.block(e)
		}
		return
	}
}

func (p *printer) match(x *Match) {
	p.put("match ")
	p.expr(x.Subject)
	p.put(" {")
	p.indent++
	if l := p.layout; l != nil {
		from := x.Subject.Pos().End
		p.items(from, x.End-1, false, len(x.Arms), func(i int) Span { return x.Arms[i].Span },
			func(i int) Node { return x.Arms[i].Pats[0] }, func(i int) { p.arm(x.Arms[i]) })
		p.indent--
		p.line()
		p.put("}")
		return
	}
	for i, a := range x.Arms {
		switch {
		case i > 0:
			p.separate(a.Pats[0])
		case p.inline:
			p.put(" ")
		default:
			p.line()
		}
		p.arm(a)
	}
	p.indent--
	switch {
	case len(x.Arms) == 0:
	case p.inline:
		p.put(" ")
	default:
		p.line()
	}
	p.put("}")
}

func (p *printer) arm(a Arm) {
	for i, pat := range a.Pats {
		if i > 0 {
			p.put(" | ")
		}
		p.pattern(pat)
	}
	if a.Guard != nil {
		p.put(" if ")
		p.expr(a.Guard)
	}
	p.put(" => ")
	p.body(a.Body)
}

// body writes what stands after `=>`, where empty braces are a block.
func (p *printer) body(x Expr) {
	if b, ok := x.(*Block); ok {
		p.openBlock(b)
		return
	}
	p.expr(x)
}

// openBlock writes a block where a record could stand too: a `;` keeps first
// words such as `a , b` from looking like one.
func (p *printer) openBlock(b *Block) {
	mark := p.b.Len()
	p.block(b)
	text := string(p.b.Bytes()[mark:])
	scan := parser{scanner: scanner{text}}
	if len(b.Stmts) > 0 && scan.recordAt(1, true) {
		p.b.Truncate(mark)
		p.put("{;", text[1:])
	}
}

func (p *printer) catch(x *Catch) {
	p.expr(x.X)
	if endsInCommand(x.X) {
		p.line() // in command text catch is a word
	} else {
		p.put(" ")
	}
	p.put("catch ")
	if x.Binder != "" {
		p.put(x.Binder, " ")
	}
	p.expr(x.Handler)
}

// endsInCommand reports whether the text of x ends with command words, which
// would swallow what follows on the line, or with `&`, which nothing may
// follow there.
func endsInCommand(x Expr) bool {
	c := lastCommand(x)
	return c != nil && (c.Interp == nil || c.Background)
}

func endsInAmp(x Expr) bool {
	c := lastCommand(x)
	return c != nil && c.Background
}

// lastCommand is the command that the text of x ends with, or nil.
func lastCommand(x Expr) *Command {
	for {
		switch e := x.(type) {
		case *Command:
			return e
		case *Binary:
			x = e.R
		case *Catch:
			x = e.Handler
		case *Unary:
			x = e.X
		case *Lambda:
			x = e.Body
		default:
			return nil
		}
	}
}

func (p *printer) binary(x *Binary) {
	p.expr(x.L)
	switch {
	case x.Op == ".." || x.Op == "..=":
		p.rangeOp(x)
	case x.Op == "??" && endsInCommand(x.L), endsInAmp(x.L):
		p.line()
		p.put(x.Op, " ")
	default:
		p.put(" ", x.Op, " ")
	}
	p.expr(x.R)
}

// rangeOp writes the dots of a range: touching, so that no name before them is
// read as a command, but away from a path.
func (p *printer) rangeOp(x *Binary) {
	if lit := rightLiteral(x.L); lit != nil && lit.Kind == LitPath {
		p.put(" ")
	}
	p.put(x.Op)
	if lit := leftLiteral(x.R); lit != nil && lit.Kind == LitPath {
		p.put(" ")
	}
}

// leftLiteral is the literal that an operand starts with, or nil.
func leftLiteral(x Expr) *Literal {
	for {
		switch e := x.(type) {
		case *Literal:
			return e
		case *Binary:
			x = e.L
		case *Catch:
			x = e.X
		case *Field:
			x = e.X
		case *Method:
			x = e.X
		case *Index:
			x = e.X
		case *Call:
			x = e.Fn
		default:
			return nil
		}
	}
}

// rightLiteral is the literal that an operand ends with, or nil.
func rightLiteral(x Expr) *Literal {
	for {
		switch e := x.(type) {
		case *Literal:
			return e
		case *Unary:
			x = e.X
		case *Binary:
			x = e.R
		default:
			return nil
		}
	}
}

// base writes what a postfix is applied to. A path would swallow it.
func (p *printer) base(x Expr) {
	p.expr(x)
	if lit, ok := x.(*Literal); ok && lit.Kind == LitPath {
		p.put(" ")
	}
}

func (p *printer) member(x Expr, safe bool, name string) {
	p.base(x)
	if endsInAmp(x) {
		p.line()
	}
	if safe {
		p.put("?")
	}
	p.put(".", name)
}

// args writes call arguments, a trailing block behind the parentheses. They
// stand at that place of the source.
func (p *printer) args(at int, list []Arg) {
	var block *Lambda
	if n := len(list); n > 0 {
		if l, ok := list[n-1].X.(*Lambda); ok && l.Trailing {
			block, list = l, list[:n-1]
		}
	}
	if block != nil && len(list) == 0 && p.bareBlock(at, block) {
		p.put(" ")
		p.block(block.Body.(*Block))
		return
	}
	p.put("(")
	for i, a := range list {
		if i > 0 {
			p.put(", ")
		}
		if a.Name != "" {
			p.put(a.Name, ": ")
		}
		if a.Cmd != nil {
			p.command(a.Cmd)
		} else {
			p.expr(a.X)
		}
	}
	p.put(")")
	if block != nil {
		p.put(" ")
		p.block(block.Body.(*Block))
	}
}

func (p *printer) lambda(x *Lambda) {
	switch {
	case x.Implicit:
		p.expr(x.Body)
		return
	case x.Trailing:
		p.block(x.Body.(*Block))
		return
	case len(x.Params) == 1 && x.Params[0].Type == nil && !x.Params[0].Rest:
		p.put(x.Params[0].Name)
	default:
		p.params(x.Params)
	}
	p.put(" => ")
	p.body(x.Body)
}

func (p *printer) literal(x *Literal) {
	if p.kept(x.Span) {
		return
	}
	switch x.Kind {
	case LitNull:
		p.put("null")
	case LitBool:
		p.put(strconv.FormatBool(x.Bool))
	case LitInt:
		p.put(strconv.FormatInt(x.Int, 10))
	case LitFloat:
		s := strconv.FormatFloat(x.Float, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		p.put(s)
	case LitStr:
		p.put(quoteString(x.Str))
	case LitSize, LitDuration:
		p.quantity(x)
	case LitTime:
		s := x.Int
		p.put(fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60))
	case LitRegex:
		p.put(`re"`, x.Str, `"`)
	case LitDatetime:
		p.put(`t"`, x.Str, `"`)
	case LitPath:
		p.put(x.Str)
	}
}

func (p *printer) quantity(x *Literal) {
	switch {
	case x.Overflow:
		p.put(x.Str)
	case x.Kind == LitSize:
		p.put(strconv.FormatUint(uint64(x.Int), 10), "b")
	default:
		p.put(strconv.FormatInt(x.Int, 10), "ns")
	}
}

// interp writes a string with holes: on one line if the holes allow it.
func (p *printer) interp(x *Interp) {
	if p.kept(x.Span) {
		return
	}
	hole := printer{inline: true}
	for _, part := range x.Parts {
		if part.X == nil {
			hole.put(escapeString(part.Text))
			continue
		}
		hole.put("{")
		hole.expr(part.X)
		hole.put("}")
	}
	quote := `"`
	if strings.Contains(hole.b.String(), "\n") {
		quote = `"""`
	}
	p.put(quote, hole.b.String(), quote)
}

// quoteString writes text as a double-quoted string.
func quoteString(s string) string { return `"` + escapeString(s) + `"` }

var stringEscapes = strings.NewReplacer(
	`\`, `\\`, `"`, `\"`, "{", `\{`, "}", `\}`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\x00", `\0`,
)

func escapeString(s string) string { return stringEscapes.Replace(s) }
