package syntax

// binding is what a name is bound to, as far as reading source cares.
type binding uint8

const (
	unbound binding = iota
	valueBound
	commandBound
)

// names are the lexical scopes while parsing: a table of the current bindings
// and a log to undo them, so that looking up never walks scopes.
type names struct {
	seed      Names
	current   map[string]binding
	undo      []shadowed
	consulted []string
	asked     map[string]bool
}

// shadowed is the binding a name had before.
type shadowed struct {
	name string
	was  binding
	had  bool
}

func newNames(seed Names) *names {
	return &names{seed: seed, current: make(map[string]binding)}
}

// lookup is the binding of a name; asking the session is recorded.
func (n *names) lookup(name string) binding {
	if b, ok := n.current[name]; ok {
		return b
	}
	if !n.asked[name] {
		if n.asked == nil {
			n.asked = make(map[string]bool)
		}
		n.asked[name] = true
		n.consulted = append(n.consulted, name)
	}
	switch {
	case n.seed.Value[name]:
		return valueBound
	case n.seed.Command[name]:
		return commandBound
	case name == "path", name == "glob", name == "regex":
		return valueBound
	}
	return unbound
}

// bind binds a name in the current scope. "_" and "" bind nothing.
func (n *names) bind(name string, b binding) {
	if name == "_" || name == "" {
		return
	}
	was, had := n.current[name]
	n.undo = append(n.undo, shadowed{name, was, had})
	n.current[name] = b
}

// enter opens a scope; leave takes its result and closes it.
func (n *names) enter() int { return len(n.undo) }

func (n *names) leave(mark int) {
	for i := len(n.undo) - 1; i >= mark; i-- {
		if s := n.undo[i]; s.had {
			n.current[s.name] = s.was
		} else {
			delete(n.current, s.name)
		}
	}
	n.undo = n.undo[:mark]
}
