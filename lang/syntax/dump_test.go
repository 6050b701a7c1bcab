package syntax

import (
	"fmt"
	"strings"
)

// dump writes a tree in a short form for tables of expectations: (op a b) for
// operators, <head arg …> for commands, words marked by their kind.
func dump(n Node) string {
	switch n := n.(type) {
	case nil:
		return "-"
	case *Program:
		return join(n.Stmts, "; ")
	case *ExprStmt:
		return dump(n.X)
	case *Let:
		return fmt.Sprintf("let(%s%s%s%s = %s)", flag(n.Export, "export "), flag(n.Mutable, "var "), n.Name, dumpType(n.Type), dump(n.Value))
	case *Fn:
		return fmt.Sprintf("fn(%s%s %q %s)", flag(n.Export, "export "), n.Name, n.Doc, dump(n.Func))
	case *Alias:
		return fmt.Sprintf("alias(%s %s)", n.Name, dump(n.Cmd))
	case *Use:
		return fmt.Sprintf("use(%s)", dumpArg(n.Target))
	case *For:
		return fmt.Sprintf("for(%s %s %s)", n.Name, dump(n.Iter), dump(n.Body))
	case *While:
		return fmt.Sprintf("while(%s %s)", dump(n.Cond), dump(n.Body))
	case *Return:
		if n.Value == nil {
			return "return"
		}
		return fmt.Sprintf("return(%s)", dump(n.Value))
	case *Break:
		return "break"
	case *Continue:
		return "continue"
	case *Assign:
		return fmt.Sprintf("assign(%s%s %s %s)", flag(n.Env, "env."), n.Name, n.Op, dump(n.Value))
	case Expr:
		return dumpExpr(n)
	}
	return fmt.Sprintf("%T", n)
}

func flag(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

func join[N Node](list []N, sep string) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = dump(n)
	}
	return strings.Join(parts, sep)
}

func dumpExpr(n Expr) string {
	switch n := n.(type) {
	case *Literal:
		return dumpLiteral(n)
	case *Interp:
		var parts []string
		for _, p := range n.Parts {
			if p.X == nil {
				parts = append(parts, fmt.Sprintf("%q", p.Text))
			} else {
				parts = append(parts, dump(p.X))
			}
		}
		return "interp(" + strings.Join(parts, " ") + ")"
	case *Name:
		if n.Name == ImplicitParam {
			return "ITEM"
		}
		return n.Name
	case *List:
		return "[" + join(n.Items, ", ") + "]"
	case *Record:
		return "rec{" + dumpFields(n.Fields) + "}"
	case *Block:
		return "{" + join(n.Stmts, "; ") + "}"
	case *Paren:
		return "(paren " + dump(n.X) + ")"
	case *If:
		return fmt.Sprintf("if(%s %s %s)", dump(n.Cond), dump(n.Then), dump(n.Else))
	case *Match:
		var arms []string
		for _, a := range n.Arms {
			var pats []string
			for _, p := range a.Pats {
				pats = append(pats, dumpPattern(p))
			}
			arms = append(arms, fmt.Sprintf("%s if %s => %s", strings.Join(pats, "|"), dump(a.Guard), dump(a.Body)))
		}
		return "match(" + dump(n.Subject) + " " + strings.Join(arms, ", ") + ")"
	case *Try:
		return fmt.Sprintf("try(%s %s:%s)", dump(n.Body), n.Binder, dump(n.Handler))
	case *Catch:
		return fmt.Sprintf("catch(%s %s:%s)", dump(n.X), n.Binder, dump(n.Handler))
	case *With:
		return fmt.Sprintf("with(%s %s)", dumpFields(n.Entries), dump(n.Body))
	case *Spawn:
		return fmt.Sprintf("spawn(%s)", dump(n.Body))
	case *Unary:
		return fmt.Sprintf("(%s %s)", n.Op, dump(n.X))
	case *Binary:
		return fmt.Sprintf("(%s %s %s)", n.Op, dump(n.L), dump(n.R))
	case *Field:
		return dump(n.X) + flag(n.Safe, "?") + "." + n.Name
	case *Method:
		return dump(n.X) + flag(n.Safe, "?") + "." + n.Name + dumpArgs(n.Args)
	case *Index:
		return dump(n.X) + "[" + dump(n.I) + "]"
	case *Call:
		return dump(n.Fn) + dumpArgs(n.Args)
	case *Lambda:
		return dumpLambda(n)
	case *Command:
		return dumpCommand(n)
	}
	return fmt.Sprintf("%T", n)
}

func dumpLiteral(n *Literal) string {
	switch n.Kind {
	case LitNull:
		return "null"
	case LitBool:
		return fmt.Sprint(n.Bool)
	case LitInt:
		return fmt.Sprint(n.Int)
	case LitFloat:
		return fmt.Sprintf("%gf", n.Float)
	case LitStr:
		return fmt.Sprintf("%q", n.Str)
	case LitSize:
		return fmt.Sprintf("%dB%s", uint64(n.Int), flag(n.Overflow, "!"))
	case LitDuration:
		return fmt.Sprintf("%dns%s", n.Int, flag(n.Overflow, "!"))
	case LitTime:
		return fmt.Sprintf("time:%d", n.Int)
	case LitRegex:
		return "re:" + n.Str
	case LitDatetime:
		return "t:" + n.Str
	}
	return "path:" + n.Str
}

func dumpFields(list []RecordField) string {
	var parts []string
	for _, f := range list {
		parts = append(parts, f.Key+": "+dump(f.Value))
	}
	return strings.Join(parts, ", ")
}

func dumpArgs(list []Arg) string {
	var parts []string
	for _, a := range list {
		s := dump(a.X)
		if a.Name != "" {
			s = a.Name + ": " + s
		}
		if a.Cmd != nil && Expr(a.Cmd) != a.X {
			s += "/" + dump(a.Cmd)
		}
		parts = append(parts, s)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func dumpLambda(n *Lambda) string {
	var params []string
	for _, p := range n.Params {
		s := flag(p.Rest, "...") + strings.ReplaceAll(p.Name, ImplicitParam, "ITEM") + dumpType(p.Type)
		if p.Default != nil {
			s += "=" + dump(p.Default)
		}
		params = append(params, s)
	}
	return fmt.Sprintf("%s\\%s%s.%s", flag(n.Trailing, "block"), strings.Join(params, ","), dumpType(n.Ret), dump(n.Body))
}

func dumpType(t *Type) string {
	if t == nil {
		return ""
	}
	s := ":" + t.Name
	for _, a := range t.Args {
		s += "<" + dumpType(a) + ">"
	}
	return s + flag(t.Optional, "?")
}

func dumpCommand(c *Command) string {
	var parts []string
	for _, e := range c.EnvPrefix {
		parts = append(parts, e.Name+"="+dumpParts(e.Value))
	}
	parts = append(parts, flag(c.Force, "^")+dumpArg(c.Head))
	if c.Interp != nil {
		parts = append(parts, fmt.Sprintf("payload %q", c.Interp.Text))
	}
	for _, a := range c.Args {
		parts = append(parts, dumpArg(a))
	}
	for _, r := range c.Redirects {
		parts = append(parts, "redirect"+r.Op+dumpArg(r.Target))
	}
	if c.Trailing != nil {
		parts = append(parts, dump(c.Trailing))
	}
	if c.Background {
		parts = append(parts, "&")
	}
	return "<" + strings.Join(parts, " ") + ">"
}

var argNames = [...]string{
	ArgWord: "", ArgString: "str:", ArgPath: "path:", ArgGlob: "glob:", ArgValue: "val:",
	ArgLong: "long:", ArgShort: "short:", ArgDash: "dash:", ArgDashDash: "dashdash:", ArgSpread: "spread:",
}

func dumpArg(a CmdArg) string {
	s := argNames[a.Kind]
	switch {
	case a.Kind == ArgLong && a.HasValue:
		return s + a.Flag + "=" + dumpParts(a.Parts)
	case a.Kind == ArgLong || a.Kind == ArgShort:
		return s + a.Flag
	case a.X != nil:
		return s + dump(a.X)
	case a.Parts != nil:
		return s + dumpParts(a.Parts)
	}
	return s + a.Text
}

func dumpParts(list []WordPart) string {
	var b strings.Builder
	for _, p := range list {
		switch {
		case p.X != nil:
			b.WriteString("(" + dump(p.X) + ")")
		case p.Quoted:
			fmt.Fprintf(&b, "%q", p.Text)
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func dumpPattern(p Pattern) string {
	switch p := p.(type) {
	case *PatAny:
		return "_"
	case *PatBind:
		return strings.TrimSpace(p.Type + " " + p.Name)
	case *PatLit:
		return dump(p.Lit)
	case *PatRange:
		return fmt.Sprintf("%d..%s%d", p.Start, flag(p.Inclusive, "="), p.End)
	case *PatRecord:
		var parts []string
		for _, f := range p.Fields {
			s := f.Name
			if f.Pat != nil {
				s += ": " + dumpPattern(f.Pat)
			}
			parts = append(parts, s)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *PatList:
		var parts []string
		for _, item := range p.Items {
			parts = append(parts, dumpPattern(item))
		}
		if p.HasRest {
			parts = append(parts, "..."+p.Rest)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "?"
}
