package plan

import (
	"path"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

func clean(p string) string { return path.Clean(p) }

// rowMethods are the methods of collections that keep or give records when
// their receiver holds records.
var rowMethods = map[string]bool{
	"where": true, "filter": true, "sort": true, "sort_by": true, "take": true, "skip": true,
	"reverse": true, "uniq": true, "collect": true, "select": true,
}

// itemMethods call their argument with each item.
var itemMethods = map[string]bool{
	"where": true, "filter": true, "find": true, "any": true, "all": true, "map": true, "flat_map": true,
	"each": true, "sort": true, "sort_by": true, "group": true, "group_by": true,
}

// field walks `x.name`.
func (w *walker) field(e *syntax.Field) abstract {
	if n, ok := e.X.(*syntax.Name); ok {
		if _, bound := w.lookup(n.Name); !bound && (n.Name == "env" || w.rows.Namespace(n.Name)) {
			if n.Name == "env" {
				w.add(e.Span, effect.Effect{Kind: effect.EnvRead, Name: e.Name})
				return unknown
			}
			found, _ := w.rows.Member(n.Name, e.Name, nil, w.dir())
			w.add(e.Span, found...)
			return unknown
		}
	}
	recv := w.expr(e.X)
	if a, ok := recv.fields[e.Name]; ok {
		return a
	}
	if recv.planned != nil && (e.Name == "id" || e.Name == "ref") {
		return abstract{planned: recv.planned}
	}
	if recv.known && recv.v.Kind() == value.KindRecord {
		if v, ok := recv.v.AsRecord().Get(e.Name); ok {
			return w.sessionValue(v)
		}
	}
	w.mention(recv)
	w.methodEffects(recv, e.Name, nil, e.Span)
	return unknown
}

func (w *walker) methodEffects(recv abstract, name string, args []Arg, span syntax.Span) {
	if recv.typed && recv.kind == value.KindOutcome {
		recv.typed = false // forwarded to a value of any kind
	}
	if recv.fn != nil {
		recv.typed = false // its name alone runs it
	}
	w.add(span, w.rows.Method(recv.kind, !recv.typed, name, recv.arg(), args, w.dir())...)
}

// method walks `x.name(args)`.
func (w *walker) method(e *syntax.Method) abstract {
	if n, ok := e.X.(*syntax.Name); ok {
		if _, bound := w.lookup(n.Name); !bound && w.rows.Namespace(n.Name) {
			found, _ := w.rows.Member(n.Name, e.Name, w.args(e.Args), w.dir())
			w.add(e.Span, found...)
			return unknown
		}
	}
	if e.Name == "feed" {
		return w.feed(e)
	}
	recv := w.expr(e.X)
	if a, ok := recv.fields[e.Name]; ok && a.fn != nil {
		return w.follow(a.fn, w.abstracts(e.Args))
	}
	if recv.known && recv.v.Kind() == value.KindRecord {
		if v, ok := recv.v.AsRecord().Get(e.Name); ok {
			if f := w.sessionValue(v).fn; f != nil {
				return w.follow(f, w.abstracts(e.Args))
			}
		}
	}
	w.mention(recv)
	args := w.methodArgs(recv, e)
	w.methodEffects(recv, e.Name, args, e.Span)
	if recv.rows && rowMethods[e.Name] {
		return abstract{kind: value.KindList, typed: true, rows: true}
	}
	return unknown
}

// methodArgs walks a method's arguments. A function that gets the items of a
// collection of records is followed with a record.
func (w *walker) methodArgs(recv abstract, e *syntax.Method) []Arg {
	var out []Arg
	for i := range e.Args {
		x := e.Args[i].X
		if l, ok := unparen(x).(*syntax.Lambda); ok && recv.rows && itemMethods[e.Name] {
			w.follow(&function{lambda: l, scope: w.scope}, []abstract{ofKind(value.KindRecord)})
			out = append(out, Arg{Flag: e.Args[i].Name})
			continue
		}
		a := w.expr(x)
		w.mention(a)
		arg := a.arg()
		arg.Flag = e.Args[i].Name
		out = append(out, arg)
	}
	return out
}

// feed walks `v.feed(cmd)`: the command is a program, whatever its head.
func (w *walker) feed(e *syntax.Method) abstract {
	w.mention(w.expr(e.X))
	for i := range e.Args {
		a := &e.Args[i]
		if a.Cmd != nil {
			w.fed(a.Cmd)
		} else if a.X != nil {
			w.mention(w.expr(a.X))
		}
	}
	if n, ok := unparen(e.X).(*syntax.Name); ok {
		w.spawn(n.Name, n.Span)
	}
	return ofKind(value.KindOutcome)
}

func (w *walker) fed(c *syntax.Command) {
	w.command(c, nil)
	if name := c.Head.Text; c.Interp == nil {
		if _, bound := w.lookup(name); !bound {
			w.spawn(name, c.Span)
		}
	}
}

// spawn is the effect of a program that cannot be followed.
func (w *walker) spawn(name string, span syntax.Span) {
	if name == "" {
		name = effect.Any
	}
	w.add(span, effect.Effect{Kind: effect.ProcSpawn, Argv0: name})
	if strings.Contains(name, "/") {
		for _, tool := range w.runners(name) {
			w.add(span, effect.Effect{Kind: effect.ProcSpawn, Argv0: tool})
		}
	}
	w.add(span, effect.Effect{Kind: effect.Opaque, Why: name})
}

// runners are the programs of which one runs the file of a name if it may not
// be executed.
func (w *walker) runners(name string) []string {
	if tools := interp.RunnerTools(name); tools != nil {
		return tools
	}
	if !strings.HasPrefix(name, "/") {
		if w.cwd == "" {
			return nil
		}
		name = w.cwd + "/" + name
	}
	w.started[clean(name)] = true
	_, text, _ := w.source(clean(name))
	line, _, _ := strings.Cut(text, "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil
	}
	return interp.ShebangTools(strings.TrimSpace(rest))
}

// args walks call arguments.
func (w *walker) args(args []syntax.Arg) []Arg {
	out := make([]Arg, 0, len(args))
	for i := range args {
		a := w.expr(args[i].X)
		w.mention(a)
		arg := a.arg()
		arg.Flag = args[i].Name
		out = append(out, arg)
	}
	return out
}

// abstracts walks the arguments of a call that is followed. Named ones make all
// of them unknown.
func (w *walker) abstracts(args []syntax.Arg) []abstract {
	out := make([]abstract, 0, len(args))
	named := false
	for i := range args {
		a := w.expr(args[i].X)
		if a.fn == nil {
			w.mention(a)
		}
		named = named || args[i].Name != ""
		out = append(out, a)
	}
	if !named {
		return out
	}
	for _, a := range out {
		w.mention(a)
	}
	return nil
}

// call walks `f(args)`.
func (w *walker) call(e *syntax.Call) abstract {
	n, ok := unparen(e.Fn).(*syntax.Name)
	if !ok {
		if l, ok := unparen(e.Fn).(*syntax.Lambda); ok {
			return w.follow(&function{lambda: l, scope: w.scope}, w.abstracts(e.Args))
		}
		w.mention(w.expr(e.Fn))
		w.args(e.Args)
		return unknown
	}
	if found, ok := w.rows.Function(n.Name, nil, w.dir()); ok {
		args := w.args(e.Args)
		if w.loads(n.Name, args, e.Span) {
			return unknown
		}
		found, _ = w.rows.Function(n.Name, args, w.dir())
		w.add(e.Span, found...)
		return constructed(n.Name, args)
	}
	a, bound := w.lookup(n.Name)
	if !bound {
		return w.unbound(n.Name, w.args(e.Args), e.Span)
	}
	if a.fn == nil {
		w.mention(a)
		w.args(e.Args)
		return unknown
	}
	if a.fn.alias != nil {
		return w.command(a.fn.alias, w.args(e.Args))
	}
	return w.follow(a.fn, w.abstracts(e.Args))
}

// constructed is the value of a constructor called with a constant.
func constructed(name string, args []Arg) abstract {
	switch name {
	case "path":
		if len(args) == 1 && args[0].Known && (args[0].Value.Kind() == value.KindStr || args[0].Value.Kind() == value.KindPath) {
			return constant(value.Path(args[0].Value.AsStr()))
		}
		return ofKind(value.KindPath)
	case "channel":
		if len(args) == 1 && args[0].Known && args[0].Value.Kind() == value.KindStr {
			var channel value.RecordBuilder
			channel.Add("channel", args[0].Value)
			return constant(channel.Done())
		}
		if len(args) == 1 {
			return abstract{kind: value.KindRecord, typed: true, prefix: args[0].Prefix}
		}
	case "glob":
		return ofKind(value.KindGlob)
	case "range":
		return ofKind(value.KindRange)
	}
	return unknown
}

// unbound is a name that nothing binds: a head of the library or a program.
func (w *walker) unbound(name string, args []Arg, span syntax.Span) abstract {
	if name == "now" || name == "today" {
		found, _ := w.rows.Function(name, nil, w.dir())
		w.add(span, found...)
		return ofKind(value.KindDatetime)
	}
	return w.head(name, args, span)
}

// head is a library head, or a program that cannot be followed.
func (w *walker) head(name string, args []Arg, span syntax.Span) abstract {
	found, ok := w.rows.Head(name, args, w.dir())
	switch {
	case !ok && interp.IsScript(name):
		if !w.script(name, span) {
			w.add(span, effect.Effect{Kind: effect.Opaque, Why: "script " + name})
		}
		return unknown
	case ok && (w.loads(name, args, span) || name == "apply" && w.applies(args, span)):
		return unknown
	}
	if !ok {
		w.spawn(name, span)
		return ofKind(value.KindOutcome)
	}
	w.add(span, found...)
	for _, e := range found {
		switch e.Kind {
		case effect.SessionWrite:
			w.moved(args)
		case effect.FSDelete:
			for _, a := range args {
				w.permanent = w.permanent || a.Flag == "permanent"
			}
		}
	}
	if name == "ls" || name == "jobs" || name == "journal" {
		return abstract{kind: value.KindTable, typed: true, rows: true}
	}
	return unknown
}

// loads walks the file behind source and run; false when it is none that can be
// followed.
func (w *walker) loads(name string, args []Arg, span syntax.Span) bool {
	if name != "run" && name != "source" || len(args) == 0 || args[0].Flag != "" || !args[0].Known {
		return false
	}
	if k := args[0].Value.Kind(); k != value.KindStr && k != value.KindPath {
		return false
	}
	target := args[0].Value.AsStr()
	switch {
	case name == "source" && len(args) == 1:
		return w.sourced(target, span)
	case name == "run" && strings.HasSuffix(target, ".shl"):
		return w.script(target, span)
	}
	return false
}

// applies walks the code of a plan that apply runs, in the directory of the
// plan; false when it is not known which that is.
func (w *walker) applies(args []Arg, span syntax.Span) bool {
	if len(args) != 1 || args[0].Flag != "" {
		return false
	}
	p := args[0].planned
	if p == nil && args[0].Known {
		if fn, ref, cwd, ok := w.session.Planned(args[0].Value); ok {
			p = &planned{w.sessionValue(fn).fn, cwd, ref}
		}
	}
	if p == nil {
		return args[0].Known && args[0].Value.Kind() == value.KindStr && w.planned(args[0].Value.AsStr(), span)
	}
	if p.fn == nil {
		return false
	}
	w.within(p.ref, p.cwd, func() { w.follow(p.fn, nil) })
	return true
}

// within walks the code of a plan, in the directory of the plan.
func (w *walker) within(ref, dir string, walk func()) {
	outer, cwd, cds := w.applying, w.cwd, w.cds
	w.applying, w.cwd = ref, dir
	walk()
	w.applying = outer
	if w.cds == cds {
		w.cwd = cwd
	}
}

// moved follows a change of directory.
func (w *walker) moved(args []Arg) {
	if len(args) == 1 && args[0].Flag == "" {
		w.enter(abstract{known: args[0].Known, v: args[0].Value})
		return
	}
	w.enter(unknown)
}

// follow walks the body of a function that is called with what is known of its
// arguments; nil arguments are all unknown. A function is followed again only
// for arguments it has not seen, and inside itself only with unknown ones.
func (w *walker) follow(f *function, args []abstract) abstract {
	if f.alias != nil {
		return w.command(f.alias, nil)
	}
	l := f.lambda
	if w.active[l] > 0 || w.steps > maxSteps {
		for _, a := range args {
			w.mention(a)
		}
		args = nil
	}
	key := callKey{l, argsKey(args), w.cwd, w.applying}
	if w.done[key] || w.active[l] > 1 {
		return unknown
	}
	if w.depth >= maxDepth {
		if w.err == nil {
			w.err = value.Errorf(value.CodeRecursion, "calls nest more than %d deep", maxDepth)
		}
		return unknown
	}
	w.done[key] = true
	if f.afar {
		w.afar++
		defer func() { w.afar-- }()
	}
	w.active[l]++
	w.depth++
	outer := w.scope
	w.scope = &scope{parent: f.scope, names: map[string]abstract{}}
	w.params(l, args)
	r := w.expr(l.Body)
	w.mention(r)
	w.scope = outer
	w.depth--
	w.active[l]--
	return unknown
}

func (w *walker) params(l *syntax.Lambda, args []abstract) {
	for i := range l.Params {
		p := &l.Params[i]
		if p.Default != nil {
			w.mention(w.expr(p.Default))
		}
		a := unknown
		if !p.Rest && i < len(args) {
			a = args[i]
		} else if p.Rest {
			for _, surplus := range args[min(i, len(args)):] {
				w.mention(surplus)
			}
		}
		w.bind(p.Name, a)
	}
}

// argsKey tells calls with different known arguments apart. Functions as
// arguments are never the same.
func argsKey(args []abstract) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte('\x00')
		}
		switch {
		case a.fn != nil:
			return "fn"
		case a.known:
			b.WriteString(a.v.Kind().String())
			b.Write(value.AppendInline(nil, a.v))
		case a.typed:
			b.WriteString("?" + a.kind.String())
		}
	}
	return b.String()
}
