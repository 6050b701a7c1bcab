package interp

import (
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// unboundSite is a name without binding in an expression.
type unboundSite struct {
	name string
	span syntax.Span
}

// unbound evaluates a name that the session does not bind: now and today, a
// head or a program without arguments.
func (m *Machine) unbound(site *unboundSite) value.Value {
	if site.name == "now" || site.name == "today" {
		if f := m.lib.Function(site.name); f != nil {
			return m.runFunction(f, site.name, nil, nil, site.span)
		}
	}
	if !m.known(site) {
		return value.Null
	}
	return m.runNamed(site.name, nil, value.Null, inValue, site.span)
}

// known raises unless an unbound name is a head or a program.
func (m *Machine) known(site *unboundSite) bool {
	if cell := m.scope().cell(site.name); cell != nil && cell.lost != nil {
		m.raise(cell.lost, site.span)
		return false
	}
	if m.lib.Head(site.name) != nil {
		return true
	}
	if _, err := m.lookPath(site.name); err == nil {
		return true
	}
	err := value.Errorf(value.CodeUndefined, "undefined variable `%s`", site.name)
	m.raise(err.WithHint("%s", m.undefinedHint(site.name)), site.span)
	return false
}

// undefinedHint is what to do about a name that is nothing.
func (m *Machine) undefinedHint(name string) string {
	if hint := hintElsewhere(name); hint != "" {
		return hint
	}
	if _, set := m.Getenv(name); set {
		return "`env." + name + "` reads the environment"
	}
	if near := nearest(name, m.candidates()); near != "" {
		return "did you mean '" + near + "'?"
	}
	return "`let " + name + " = …` defines it; text needs quotes: \"" + name + "\""
}

// candidates are the names that "did you mean" may offer: heads and callable
// bindings.
func (m *Machine) candidates() []string {
	names := append([]string(nil), m.lib.HeadNames()...)
	scope := m.scope()
	scope.mu.Lock()
	defer scope.mu.Unlock()
	for name, c := range scope.names {
		if c.bind == BindFn || c.bind == BindAlias {
			names = append(names, name)
		}
	}
	return names
}

// operatorWord reports whether a first argument shows that the head was meant
// as a variable.
func operatorWord(words []word) bool {
	if len(words) == 0 {
		return false
	}
	switch words[0].Text {
	case "==", "!=", "=", ":=", "+", "-", "*", "/", "%", ">=":
		return true
	}
	return words[0].glob != nil && words[0].glob.Pattern == "*"
}

// sketch is the command that words make, as far as they are plain.
func sketch(words []word) string {
	var text []string
	for _, w := range words {
		if w.Text == "" || strings.ContainsAny(w.Text, " \t\n'\"(){}") {
			text = append(text, "…")
			break
		}
		text = append(text, w.Text)
	}
	if len(text) == 0 {
		return "cmd"
	}
	return strings.Join(text, " ")
}

// notFound is the error for a head that is nothing.
func (m *Machine) notFound(name string, words []word) *value.Error {
	err := value.Errorf(value.CodeNotFound, "command not found: %s", name)
	if operatorWord(words) {
		return err.WithHint("`%s` is not defined; `let %s = …` defines it", name, name)
	}
	if hint := hintElsewhere(name); hint != "" {
		return err.WithHint("%s", hint)
	}
	if rest, ok := strings.CutSuffix(name, "="); ok && rest != "" {
		return err.WithHint("an empty value has quotes: `%s=\"\" %s`", rest, sketch(words))
	}
	if near := nearest(name, m.candidates()); near != "" {
		return err.WithHint("did you mean '%s'?", near)
	}
	if strings.Contains(name, "/") {
		return err.WithHint("there is no such file; paths are relative to the working directory, see `pwd`")
	}
	if _, set := m.Getenv(name); set {
		return err.WithHint("`env.%s` reads the environment", name)
	}
	return err.WithHint("no builtin, function or program on PATH has this name; a value is defined with `let %s = …`, and text needs quotes", name)
}
