package builtin

import (
	"maps"
	"slices"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

type methodEffects = func(recv interp.EffectArg, args []interp.EffectArg, cwd string) []effect.Effect

// methodRow is a method of the kinds in recv.
type methodRow struct {
	recv accepts
	sig  string
	doc  string
	run  run
}

// fieldRow is a computed field of the kinds in recv.
type fieldRow struct {
	recv    accepts
	name    string
	doc     string
	run     run
	effects methodEffects
}

// functionRow is a call name or constructor.
type functionRow struct {
	sig     string
	doc     string
	effects interp.EffectFunc
	run     run
}

// memberRow is a member of a namespace; one without parentheses is a constant.
type memberRow struct {
	space string
	sig   string
	doc   string
	run   run
}

// headRow is a command head. Structured heads give an outcome.
type headRow struct {
	name       string
	sig        string
	doc        string
	structured bool
	effects    interp.EffectFunc
	run        func(c *interp.HeadCall) (value.Value, error)
}

// Lib is the library as the engine uses it. It is safe for concurrent use.
type Lib struct {
	heads     map[string]*interp.Head
	methods   map[string]*[64]*interp.Method
	fields    map[string]*[64]*interp.Method
	functions map[string]*interp.Function
	members   map[string]map[string]*interp.Function
	headNames []string
}

var _ interp.Library = (*Lib)(nil)

// Library builds the table.
func Library() *Lib {
	l := &Lib{
		heads:     map[string]*interp.Head{},
		methods:   map[string]*[64]*interp.Method{},
		fields:    map[string]*[64]*interp.Method{},
		functions: map[string]*interp.Function{},
		members:   map[string]map[string]*interp.Function{},
	}
	for _, r := range allHeads() {
		l.heads[r.name] = &interp.Head{
			Doc:        interp.Doc{Name: r.name, Signature: r.sig, Text: r.doc},
			Structured: r.structured, Runs: r.name == "run" || r.name == "interact", Effects: r.effects, Run: r.run,
		}
	}
	l.headNames = slices.Sorted(maps.Keys(l.heads))
	for _, r := range allMethods() {
		l.addMethod(r)
	}
	l.addCollected()
	for _, r := range allFields() {
		l.addField(r)
	}
	for _, r := range allFunctions() {
		s := parseSignature(r.sig)
		l.functions[s.name] = &interp.Function{
			Doc:  interp.Doc{Name: s.name, Signature: r.sig, Text: r.doc},
			Runs: s.name == "run", Effects: r.effects, Run: checked(s, r.run),
		}
	}
	for _, r := range allMembers() {
		l.addMember(r)
	}
	return l
}

// checked binds the arguments to the signature before it runs.
func checked(s *signature, f run) func(c *interp.Call) (value.Value, error) {
	return func(c *interp.Call) (value.Value, error) {
		args, err := s.bind(c)
		if err != nil {
			return value.Null, err
		}
		return f(c, args)
	}
}

func (l *Lib) addMethod(r methodRow) {
	s := parseSignature(r.sig)
	m := &interp.Method{
		Doc: interp.Doc{Name: s.name, Signature: r.sig, Text: r.doc},
		Run: checked(s, r.run),
	}
	m.Effects, m.Plain = outside[s.name], plainMethods[s.name]
	register(l.methods, s.name, r.recv, m)
}

// outside are the methods that reach the world, with what they do to it. The
// engine lets others go on while a row with effects runs, so the ones that only
// wait stand here too.
var outside = map[string]methodEffects{
	"save": saveMethodEffects, "append": saveMethodEffects,
	"latest": channelMethodEffects, "events": channelMethodEffects,
	"await": waits, "wait": waits, "suspend": waits, "resume": waits,
	"emit": waits,
}

// plainMethods are methods of str that need nothing of a call, as a rule.
var plainMethods = map[string]func(value.Value) (value.Value, bool){"parse_int": plainInt}

func waits(interp.EffectArg, []interp.EffectArg, string) []effect.Effect { return nil }

// addField makes the field; those of paths are methods without arguments too.
func (l *Lib) addField(r fieldRow) {
	s := parseSignature(r.name + "()")
	m := &interp.Method{
		Doc:     interp.Doc{Name: r.name, Signature: r.name, Text: r.doc},
		Effects: r.effects, Run: checked(s, r.run),
	}
	register(l.fields, r.name, r.recv, m)
	if r.recv == paths {
		register(l.methods, r.name, r.recv, m)
	}
}

func register(in map[string]*[64]*interp.Method, name string, recv accepts, m *interp.Method) {
	byKind := in[name]
	if byKind == nil {
		byKind = &[64]*interp.Method{}
		in[name] = byKind
	}
	for k := range byKind {
		if recv&(1<<k) != 0 && recv&anyKind != 0 && k < 60 {
			byKind[k] = m
		}
	}
}

func (l *Lib) addMember(r memberRow) {
	if l.members[r.space] == nil {
		l.members[r.space] = map[string]*interp.Function{}
	}
	name, isConst := r.sig, true
	f := &interp.Function{Const: true}
	if i := slices.Index([]byte(r.sig), '('); i >= 0 {
		name, isConst = r.sig[:i], false
		s := parseSignature(r.sig)
		s.name = r.space + "." + s.name
		f.Const, f.Run = false, checked(s, r.run)
	}
	if isConst {
		f.Run = func(c *interp.Call) (value.Value, error) { return r.run(c, nil) }
	}
	f.Effects = memberEffects[r.space+"."+name]
	f.Doc = interp.Doc{Name: r.space + "." + name, Signature: r.space + "." + r.sig, Text: r.doc}
	l.members[r.space][name] = f
}

// Head implements interp.Library.
func (l *Lib) Head(name string) *interp.Head { return l.heads[name] }

// HeadNames implements interp.Library.
func (l *Lib) HeadNames() []string { return l.headNames }

// Method implements interp.Library.
func (l *Lib) Method(k value.Kind, name string) *interp.Method {
	if byKind := l.methods[name]; byKind != nil {
		return byKind[k&63]
	}
	return nil
}

// Field implements interp.Library.
func (l *Lib) Field(k value.Kind, name string) *interp.Method {
	if byKind := l.fields[name]; byKind != nil {
		return byKind[k&63]
	}
	return nil
}

// Function implements interp.Library.
func (l *Lib) Function(name string) *interp.Function { return l.functions[name] }

// Member implements interp.Library. Any name is a member of env and config.
func (l *Lib) Member(namespace, name string) *interp.Function {
	if f := l.members[namespace][name]; f != nil {
		return f
	}
	switch namespace {
	case "env":
		return envMember(name)
	case "config":
		return configMember(name)
	}
	return nil
}

// Namespace implements interp.Library.
func (l *Lib) Namespace(name string) bool { return name == "env" || l.members[name] != nil }

func allHeads() []headRow {
	return slices.Concat(listingRows(), mutationRows(), sessionRows(), directoryRows(), programRows(), scriptRows(), personRows())
}

func allMethods() []methodRow {
	return slices.Concat(anyRows(), sequenceRows(), textRows(), recordRows(), numberRows(),
		pathRows(), valueRows(), channelRows(), streamRows())
}

func allFields() []fieldRow {
	return slices.Concat(pathFields(), valueFields())
}

func allFunctions() []functionRow {
	return slices.Concat(constructorRows(), callRows())
}

func allMembers() []memberRow {
	return slices.Concat(jsonRows(), tomlRows(), csvRows(), yamlRows(), mathRows(), osRows(), configRows(), httpRows(), secretRows())
}
