package resolve

import "shoal.dev/shoal/lang/syntax"

// maxDepth is how deep a tree may be. The parser limits nesting, but not the
// length of a chain of operators or methods, which is depth in the tree.
const maxDepth = 20_000

// enter counts one level of the tree; false means that it is too deep.
func (r *resolver) enter() bool {
	if r.nesting+r.depth >= maxDepth {
		r.info.TooDeep = true
		return false
	}
	r.depth++
	r.fn.Weight = max(r.fn.Weight, r.depth)
	return true
}

func (r *resolver) stmt(s syntax.Stmt) {
	if !r.enter() {
		return
	}
	defer func() { r.depth-- }()
	switch s := s.(type) {
	case *syntax.Let:
		r.expr(s.Value)
		kind := Let
		if s.Mutable {
			kind = Mutable
		}
		r.declareAt(s, s.Name, kind)
	case *syntax.Fn:
		v := r.declareAt(s, s.Name, Fn)
		r.function(s.Func, s.Func.Params, s.Func.Body, v)
	case *syntax.Alias:
		r.commandFunc(s, s.Cmd)
		r.declareAt(s, s.Name, Alias)
	case *syntax.Use:
		r.arg(&s.Target)
		r.module(s)
	case *syntax.For:
		r.expr(s.Iter)
		r.open()
		r.declareAt(s, s.Name, Binder)
		r.block(s.Body)
		r.close()
	case *syntax.While:
		r.expr(s.Cond)
		r.block(s.Body)
	case *syntax.Return:
		r.expr(s.Value)
	case *syntax.Assign:
		r.assign(s)
	case *syntax.ExprStmt:
		r.expr(s.X)
	}
}

func (r *resolver) assign(s *syntax.Assign) {
	r.expr(s.Value)
	if s.Env {
		return
	}
	if ref := r.use(s, s.Name); ref.Var != nil {
		ref.Var.mutated = true
	}
}

// block resolves a block in a scope of its own.
func (r *resolver) block(b *syntax.Block) {
	if b == nil {
		return
	}
	r.open()
	for _, s := range b.Stmts {
		r.stmt(s)
	}
	if hoisted := r.close(); hoisted != nil {
		r.info.Hoisted[b] = hoisted
	}
}

// function resolves a function in a frame of its own. self is the variable that
// holds it, if it is a local fn.
func (r *resolver) function(node syntax.Node, params []syntax.Param, body syntax.Expr, self *Var) {
	f := r.enterFunc(node, self)
	for i := range params {
		p := &params[i]
		if p.Default != nil {
			r.expr(p.Default)
		}
		f.Params = append(f.Params, r.declare(p.Name, Binder))
	}
	r.expr(body)
	r.leaveFunc()
}

// enterFunc makes a function the running one, with a scope for its parameters.
func (r *resolver) enterFunc(node syntax.Node, self *Var) *Func {
	f := &Func{Node: node, parent: r.fn, selfVar: self, Stmt: r.stmtIndex, Ordinal: r.ordinal, outerDepth: r.depth}
	if self != nil {
		self.self = f
	}
	r.ordinal++
	r.funcs = append(r.funcs, f)
	r.info.Funcs[node] = f
	r.nesting += r.depth
	r.fn, r.depth = f, 0
	r.open()
	return f
}

func (r *resolver) leaveFunc() {
	f := r.fn
	r.close()
	r.fn, r.depth = f.parent, f.outerDepth
	r.nesting -= f.outerDepth
}

func (r *resolver) expr(e syntax.Expr) {
	if e == nil {
		return
	}
	if !r.enter() {
		return
	}
	defer func() { r.depth-- }()
	switch e := e.(type) {
	case *syntax.Interp:
		for i := range e.Parts {
			r.expr(e.Parts[i].X)
		}
	case *syntax.Name:
		r.use(e, e.Name)
	case *syntax.List:
		for _, x := range e.Items {
			r.expr(x)
		}
	case *syntax.Record:
		for i := range e.Fields {
			r.expr(e.Fields[i].Value)
		}
	case *syntax.Block:
		r.block(e)
	case *syntax.Paren:
		r.expr(e.X)
	case *syntax.If:
		r.ifExpr(e)
	case *syntax.Match:
		r.match(e)
	case *syntax.Try:
		r.block(e.Body)
		r.handler(e, e.Binder, e.Handler)
	case *syntax.Catch:
		r.expr(e.X)
		r.handler(e, e.Binder, e.Handler)
	case *syntax.With:
		for i := range e.Entries {
			r.expr(e.Entries[i].Value)
		}
		r.block(e.Body)
	case *syntax.Spawn:
		r.function(e, nil, e.Body, nil)
	case *syntax.Lambda:
		r.function(e, e.Params, e.Body, nil)
	case *syntax.Command:
		r.command(e)
	default:
		r.operator(e)
	}
}

// operator resolves what has operands and nothing else.
func (r *resolver) operator(e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Unary:
		r.expr(e.X)
	case *syntax.Binary:
		r.expr(e.L)
		r.expr(e.R)
	case *syntax.Field:
		r.expr(e.X)
	case *syntax.Index:
		r.expr(e.X)
		r.expr(e.I)
	case *syntax.Method:
		r.expr(e.X)
		r.args(e.Args)
	case *syntax.Call:
		r.expr(e.Fn)
		r.args(e.Args)
	}
}

func (r *resolver) args(args []syntax.Arg) {
	for i := range args {
		r.expr(args[i].X)
		if c := args[i].Cmd; c != nil && syntax.Expr(c) != args[i].X {
			r.command(c)
		}
	}
}

// ifExpr walks an else-if chain without recursion per link: the chain is as
// long as the source likes.
func (r *resolver) ifExpr(e *syntax.If) {
	for {
		r.expr(e.Cond)
		r.block(e.Then)
		next, ok := e.Else.(*syntax.If)
		if !ok {
			break
		}
		e = next
	}
	if b, ok := e.Else.(*syntax.Block); ok {
		r.block(b)
	}
}

func (r *resolver) match(e *syntax.Match) {
	r.expr(e.Subject)
	for i := range e.Arms {
		arm := &e.Arms[i]
		r.open()
		for _, p := range arm.Pats {
			r.pattern(p)
		}
		r.expr(arm.Guard)
		r.expr(arm.Body)
		r.close()
	}
}

// pattern declares the names of a pattern. The alternatives of one arm share
// their variables, so a name that is there already is used again.
func (r *resolver) pattern(p syntax.Pattern) {
	switch p := p.(type) {
	case *syntax.PatBind:
		r.patternVar(p, p.Name)
	case *syntax.PatRecord:
		for i := range p.Fields {
			f := &p.Fields[i]
			if f.Pat == nil {
				r.patternVar(f, f.Name)
			} else {
				r.pattern(f.Pat)
			}
		}
	case *syntax.PatList:
		for _, item := range p.Items {
			r.pattern(item)
		}
		if p.HasRest {
			r.patternVar(p, p.Rest)
		}
	}
}

func (r *resolver) patternVar(node syntax.Node, name string) {
	if name == "_" || name == "" {
		r.info.Decls[node] = []*Var{nil}
		return
	}
	v := r.scope.vars[name]
	if v == nil {
		v = r.declare(name, Binder)
	}
	r.info.Decls[node] = []*Var{v}
}

func (r *resolver) handler(node syntax.Node, binder string, body syntax.Expr) {
	r.open()
	if binder != "" {
		r.declareAt(node, binder, Binder)
	}
	if b, ok := body.(*syntax.Block); ok {
		r.block(b)
	} else {
		r.expr(body)
	}
	r.close()
}

// command resolves a command line. A head that is one plain word may be a
// binding.
func (r *resolver) command(c *syntax.Command) {
	if c.Background {
		r.commandFunc(c, c)
		return
	}
	r.commandParts(c)
}

// commandFunc resolves a command that runs in a frame of its own: what an alias
// stores, or `cmd &`.
func (r *resolver) commandFunc(node syntax.Node, c *syntax.Command) {
	r.enterFunc(node, nil)
	r.commandParts(c)
	r.leaveFunc()
}

func (r *resolver) commandParts(c *syntax.Command) {
	for i := range c.EnvPrefix {
		r.parts(c.EnvPrefix[i].Value)
	}
	if name, ok := HeadName(c); ok {
		r.use(c, name)
	}
	r.arg(&c.Head)
	for i := range c.Args {
		r.arg(&c.Args[i])
	}
	for i := range c.Redirects {
		r.arg(&c.Redirects[i].Target)
	}
	if c.Trailing != nil {
		r.expr(c.Trailing)
	}
}

func (r *resolver) arg(a *syntax.CmdArg) {
	r.parts(a.Parts)
	r.expr(a.X)
}

func (r *resolver) parts(parts []syntax.WordPart) {
	for i := range parts {
		r.expr(parts[i].X)
	}
}

// HeadName is the head of a command when it is one plain identifier, which a
// binding may stand behind.
func HeadName(c *syntax.Command) (string, bool) {
	if c.Interp != nil || c.Head.Kind != syntax.ArgWord || !identifier(c.Head.Text) {
		return "", false
	}
	for _, p := range c.Head.Parts {
		if p.X != nil || p.Quoted {
			return "", false
		}
	}
	return c.Head.Text, true
}

func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
