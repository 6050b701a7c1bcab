package syntax

// Walk calls visit for n and, if it returns true, for everything below it, in
// source order. Nil nodes are skipped.
func Walk(n Node, visit func(Node) bool) {
	if !visit(n) {
		return
	}
	children(n, func(c Node) { Walk(c, visit) })
}

// children calls yield for each node directly below n.
func children(n Node, yield func(Node)) {
	switch n := n.(type) {
	case *Program:
		each(n.Stmts, yield)
	case *Let:
		yield(n.Value)
	case *Fn:
		yield(n.Func)
	case *Alias:
		yield(n.Cmd)
	case *Use:
		words(&n.Target, yield)
	case *For:
		yield(n.Iter)
		yield(n.Body)
	case *While:
		yield(n.Cond)
		yield(n.Body)
	case *Return:
		maybe(n.Value, yield)
	case *Assign:
		yield(n.Value)
	case *ExprStmt:
		yield(n.X)
	case Expr:
		exprChildren(n, yield)
	}
}

func each[N Node](list []N, yield func(Node)) {
	for _, n := range list {
		yield(n)
	}
}

func maybe(x Expr, yield func(Node)) {
	if x != nil {
		yield(x)
	}
}

func exprChildren(n Expr, yield func(Node)) {
	switch n := n.(type) {
	case *Interp:
		for _, part := range n.Parts {
			maybe(part.X, yield)
		}
	case *List:
		each(n.Items, yield)
	case *Record:
		entries(n.Fields, yield)
	case *Block:
		each(n.Stmts, yield)
	case *Paren:
		yield(n.X)
	case *If:
		yield(n.Cond)
		yield(n.Then)
		maybe(n.Else, yield)
	case *Match:
		yield(n.Subject)
		for _, a := range n.Arms {
			maybe(a.Guard, yield)
			yield(a.Body)
		}
	case *Try:
		yield(n.Body)
		yield(n.Handler)
	case *Catch:
		yield(n.X)
		yield(n.Handler)
	case *With:
		entries(n.Entries, yield)
		yield(n.Body)
	case *Spawn:
		yield(n.Body)
	case *Unary:
		yield(n.X)
	case *Binary:
		yield(n.L)
		yield(n.R)
	case *Field:
		yield(n.X)
	case *Method:
		yield(n.X)
		callArgs(n.Args, yield)
	case *Index:
		yield(n.X)
		yield(n.I)
	case *Call:
		yield(n.Fn)
		callArgs(n.Args, yield)
	case *Lambda:
		for _, param := range n.Params {
			maybe(param.Default, yield)
		}
		yield(n.Body)
	case *Command:
		commandChildren(n, yield)
	}
}

func entries(fields []RecordField, yield func(Node)) {
	for _, f := range fields {
		yield(f.Value)
	}
}

// callArgs yields the expression of each argument, not its command reading.
func callArgs(args []Arg, yield func(Node)) {
	for _, a := range args {
		yield(a.X)
	}
}

func commandChildren(c *Command, yield func(Node)) {
	for _, e := range c.EnvPrefix {
		wordParts(e.Value, yield)
	}
	words(&c.Head, yield)
	for i := range c.Args {
		words(&c.Args[i], yield)
	}
	for i := range c.Redirects {
		words(&c.Redirects[i].Target, yield)
	}
	if c.Trailing != nil {
		yield(c.Trailing)
	}
}

func words(a *CmdArg, yield func(Node)) {
	maybe(a.X, yield)
	wordParts(a.Parts, yield)
}

func wordParts(parts []WordPart, yield func(Node)) {
	for _, part := range parts {
		maybe(part.X, yield)
	}
}

// Left-nested chains such as `a + b + c` are read by a loop, so they do not
// count as nesting, but the tree they make is as high as they are long. Its
// height is limited too: whoever walks a tree does so by recursion.
const (
	smallSource = 16 << 10 // too short to make a tree higher than maxHeight
	maxHeight   = 20_000
)

// checkHeight fails when the tree is too high. It uses no recursion itself.
func checkHeight(prog *Program) {
	type level struct {
		n Node
		h int
	}
	stack := []level{{prog, 0}}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top.h > maxHeight {
			panic(&Error{Span: top.n.Pos(), Msg: "nesting too deep", Hint: "split the expression: a chain of operators or calls may have 20000 links"})
		}
		children(top.n, func(c Node) { stack = append(stack, level{c, top.h + 1}) })
	}
}
