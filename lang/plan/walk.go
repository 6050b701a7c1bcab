package plan

import (
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// declareFns binds the functions of a block before anything is followed: they
// may call each other in any order.
func (w *walker) declareFns(stmts []syntax.Stmt) {
	for _, s := range stmts {
		if f, ok := s.(*syntax.Fn); ok {
			w.bind(f.Name, abstract{kind: value.KindClosure, typed: true, fn: &function{lambda: f.Func, scope: w.scope, afar: w.loadedAt.End > 0}})
		}
	}
}

func (w *walker) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Let:
		a := w.named(s.Value)
		if s.Mutable {
			w.mention(a)
			a = unknown
		}
		w.bind(s.Name, a)
	case *syntax.Fn:
		w.bind(s.Name, abstract{kind: value.KindClosure, typed: true, fn: &function{lambda: s.Func, scope: w.scope, afar: w.loadedAt.End > 0}})
	case *syntax.Alias:
		w.bind(s.Name, abstract{kind: value.KindCommand, typed: true, fn: &function{alias: s.Cmd, scope: w.scope, afar: w.loadedAt.End > 0}})
	case *syntax.Use:
		w.use(s)
	case *syntax.For:
		over := w.expr(s.Iter)
		w.maybe(func() {
			w.open()
			item := unknown
			if over.rows {
				item = ofKind(value.KindRecord)
			}
			w.bind(s.Name, item)
			w.block(s.Body)
			w.close()
		})
	case *syntax.While:
		w.maybe(func() {
			w.expr(s.Cond)
			w.block(s.Body)
		})
	case *syntax.Return:
		if s.Value != nil {
			w.mention(w.expr(s.Value))
		}
	case *syntax.Assign:
		w.assignment(s)
	case *syntax.ExprStmt:
		w.expr(s.X)
	}
}

// named is the value of a declaration: a lambda in it is followed when its name
// is used.
func (w *walker) named(e syntax.Expr) abstract {
	if l, ok := unparen(e).(*syntax.Lambda); ok {
		return abstract{kind: value.KindClosure, typed: true, fn: &function{lambda: l, scope: w.scope, afar: w.loadedAt.End > 0}}
	}
	return w.expr(e)
}

func (w *walker) assignment(s *syntax.Assign) {
	a := w.expr(s.Value)
	if s.Env {
		if s.Op != "=" {
			w.add(s.Span, effect.Effect{Kind: effect.EnvRead, Name: s.Name})
		}
		w.add(s.Span, effect.Effect{Kind: effect.EnvWrite, Name: s.Name})
		return
	}
	w.mention(a)
	w.assign(s.Name, unknown)
}

// maybe walks what may run any number of times: what it changes is not known
// while it runs nor afterwards.
func (w *walker) maybe(f func()) {
	cwd, cds := w.cwd, w.cds
	f()
	if w.cds == cds {
		w.cwd = cwd
		return
	}
	if cwd != "" {
		w.cwd = ""
		f()
	}
	w.cwd = ""
}

func (w *walker) block(b *syntax.Block) abstract {
	if b == nil {
		return unknown
	}
	w.open()
	defer w.close()
	return w.stmts(b.Stmts)
}

func (w *walker) stmts(stmts []syntax.Stmt) abstract {
	w.declareFns(stmts)
	for i, s := range stmts {
		if x, ok := s.(*syntax.ExprStmt); ok && i == len(stmts)-1 {
			return w.expr(x.X)
		}
		w.stmt(s)
	}
	return unknown
}

func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// expr walks an expression and says what is known of its value.
func (w *walker) expr(e syntax.Expr) abstract {
	w.steps++
	switch e := e.(type) {
	case *syntax.Literal:
		return literal(e)
	case *syntax.Interp:
		return w.interp(e)
	case *syntax.Name:
		return w.name(e)
	case *syntax.List:
		return w.list(e)
	case *syntax.Record:
		return w.record(e)
	case *syntax.Block:
		return w.block(e)
	case *syntax.Paren:
		return w.expr(e.X)
	case *syntax.If:
		w.expr(e.Cond)
		w.maybe(func() { w.mention(w.block(e.Then)) })
		if e.Else != nil {
			w.maybe(func() { w.mention(w.expr(e.Else)) })
		}
	case *syntax.Match:
		w.match(e)
	case *syntax.Try:
		w.maybe(func() { w.mention(w.block(e.Body)) })
		w.handler(e.Binder, e.Handler)
	case *syntax.Catch:
		w.maybe(func() { w.mention(w.expr(e.X)) })
		w.handler(e.Binder, e.Handler)
	case *syntax.With:
		return w.with(e)
	case *syntax.Spawn:
		w.maybe(func() { w.mention(w.block(e.Body)) })
	case *syntax.Unary:
		w.expr(e.X)
	case *syntax.Binary:
		return w.binary(e)
	case *syntax.Field:
		return w.field(e)
	case *syntax.Index:
		w.mention(w.expr(e.X))
		w.expr(e.I)
	case *syntax.Method:
		return w.method(e)
	case *syntax.Call:
		return w.call(e)
	case *syntax.Lambda:
		w.follow(&function{lambda: e, scope: w.scope}, nil)
		return ofKind(value.KindClosure)
	case *syntax.Command:
		return w.command(e, nil)
	}
	return unknown
}

func literal(l *syntax.Literal) abstract {
	switch l.Kind {
	case syntax.LitStr:
		return constant(value.Str(l.Str))
	case syntax.LitPath:
		return constant(value.Path(l.Str))
	case syntax.LitInt:
		return constant(value.Int(l.Int))
	case syntax.LitBool:
		return constant(value.Bool(l.Bool))
	case syntax.LitNull:
		return constant(value.Null)
	case syntax.LitFloat:
		return ofKind(value.KindFloat)
	case syntax.LitSize:
		return ofKind(value.KindSize)
	case syntax.LitDuration:
		return ofKind(value.KindDuration)
	case syntax.LitTime:
		return ofKind(value.KindTime)
	case syntax.LitRegex:
		return ofKind(value.KindRegex)
	}
	return ofKind(value.KindDatetime)
}

func (w *walker) interp(e *syntax.Interp) abstract {
	var b strings.Builder
	known, prefix := true, ""
	for i := range e.Parts {
		p := &e.Parts[i]
		if p.X == nil {
			b.WriteString(p.Text)
			continue
		}
		a := w.expr(p.X)
		switch {
		case !a.known:
			if known {
				prefix = b.String() + a.prefix
			}
			known = false
		case a.v.Kind() == value.KindStr:
			b.WriteString(a.v.AsStr())
		default:
			b.WriteString(value.Inline(a.v))
		}
	}
	if !known {
		return abstract{kind: value.KindStr, typed: true, prefix: prefix}
	}
	return constant(value.Str(b.String()))
}

// name walks a name: a function that is mentioned may be called by whoever gets
// it, and an unbound name is a command.
func (w *walker) name(e *syntax.Name) abstract {
	a, bound := w.lookup(e.Name)
	if bound {
		return a
	}
	return w.unbound(e.Name, nil, e.Span)
}

// record walks a record. One with nothing but a channel's name is a channel.
func (w *walker) record(e *syntax.Record) abstract {
	var made value.RecordBuilder
	known := true
	for i := range e.Fields {
		f := &e.Fields[i]
		a := w.expr(f.Value)
		w.mention(a)
		if len(e.Fields) == 1 && f.Key == "channel" {
			found, _ := w.rows.Function("channel", []Arg{a.arg()}, w.dir())
			w.add(e.Span, found...)
		}
		if known = known && a.known; known {
			made.Add(f.Key, a.v)
		}
	}
	if !known {
		return ofKind(value.KindRecord)
	}
	return constant(made.Done())
}

func (w *walker) list(e *syntax.List) abstract {
	items := make([]value.Value, 0, len(e.Items))
	known := true
	for _, x := range e.Items {
		a := w.expr(x)
		w.mention(a)
		known = known && a.known
		items = append(items, a.v)
	}
	if !known {
		return ofKind(value.KindList)
	}
	return constant(value.NewList(items))
}

func (w *walker) match(e *syntax.Match) {
	w.mention(w.expr(e.Subject))
	for i := range e.Arms {
		arm := &e.Arms[i]
		w.maybe(func() {
			w.open()
			for _, p := range arm.Pats {
				w.pattern(p)
			}
			if arm.Guard != nil {
				w.expr(arm.Guard)
			}
			w.mention(w.expr(arm.Body))
			w.close()
		})
	}
}

func (w *walker) pattern(p syntax.Pattern) {
	switch p := p.(type) {
	case *syntax.PatBind:
		w.bind(p.Name, unknown)
	case *syntax.PatRecord:
		for i := range p.Fields {
			if p.Fields[i].Pat == nil {
				w.bind(p.Fields[i].Name, unknown)
			} else {
				w.pattern(p.Fields[i].Pat)
			}
		}
	case *syntax.PatList:
		for _, item := range p.Items {
			w.pattern(item)
		}
		w.bind(p.Rest, unknown)
	}
}

func (w *walker) handler(binder string, body syntax.Expr) {
	w.maybe(func() {
		w.open()
		w.bind(binder, ofKind(value.KindError))
		w.mention(w.expr(body))
		w.close()
	})
}

func (w *walker) with(e *syntax.With) abstract {
	cwd, cds := w.cwd, w.cds
	for i := range e.Entries {
		a := w.expr(e.Entries[i].Value)
		if e.Entries[i].Key == "cwd" {
			w.enter(a)
		}
	}
	r := w.block(e.Body)
	w.cwd, w.cds = cwd, cds
	return r
}

// enter makes a directory the current one, as far as it is known.
func (w *walker) enter(a abstract) {
	w.cds++
	if !a.known || a.v.Kind() != value.KindStr && a.v.Kind() != value.KindPath {
		w.cwd = ""
		return
	}
	dir := a.v.AsStr()
	switch {
	case strings.HasPrefix(dir, "/"):
		w.cwd = clean(dir)
	case strings.HasPrefix(dir, "~") || strings.HasPrefix(dir, "-") || w.cwd == "":
		w.cwd = ""
	default:
		w.cwd = clean(w.cwd + "/" + dir)
	}
}

func (w *walker) binary(e *syntax.Binary) abstract {
	l := w.expr(e.L)
	if e.Op == "&&" || e.Op == "||" || e.Op == "??" {
		w.mention(l)
		w.maybe(func() { w.mention(w.expr(e.R)) })
		return unknown
	}
	r := w.expr(e.R)
	switch e.Op {
	case "+":
		if l.known && r.known && l.v.Kind() == value.KindStr && r.v.Kind() == value.KindStr {
			return constant(value.Str(l.v.AsStr() + r.v.AsStr()))
		}
		if l.typed && r.typed && l.kind == r.kind {
			return abstract{kind: l.kind, typed: true, prefix: l.beginning()}
		}
		if l.beginning() != "" { // a text takes nothing but text
			return abstract{kind: value.KindStr, typed: true, prefix: l.beginning()}
		}
	case "==", "!=", "<", "<=", ">", ">=", "in":
		return ofKind(value.KindBool)
	case "..", "..=":
		return ofKind(value.KindRange)
	}
	return unknown
}
