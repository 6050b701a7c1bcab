package interp

import "shoal.dev/shoal/lang/value"

// Binding is how a session name was declared.
type Binding uint8

// The kinds of binding.
const (
	BindLet Binding = iota + 1
	BindVar
	BindFn
	BindAlias
	BindUse    // a module: the record of its exports
	BindExport // an exported `var` of a module
)

var bindingNames = [...]string{BindLet: "let", BindVar: "var", BindFn: "fn", BindAlias: "alias",
	BindUse: "use", BindExport: "export var"}

// String is the spelling that makes the binding.
func (b Binding) String() string {
	if int(b) < len(bindingNames) {
		return bindingNames[b]
	}
	return ""
}

// ParseBinding is the inverse of String.
func ParseBinding(s string) (Binding, bool) {
	for b := BindLet; int(b) < len(bindingNames); b++ {
		if bindingNames[b] == s {
			return b, true
		}
	}
	return 0, false
}

// Cell is a variable that outlives a frame: a session name, or a local that a
// closure captured and something assigns. While several machines share cells
// they read and write them under their world's lock; a machine that is alone
// does not need it.
type Cell struct {
	v     value.Value
	lost  *value.Error // set: the value could not be kept, using it raises this
	bind  Binding
	dirty bool   // written since the session last took its changes
	plain bool   // v is known to hold no code
	id    uint64 // for stored closures that share the cell; 0: none yet
}

// load reads a cell.
func (m *Machine) load(c *Cell) value.Value {
	if m.locked {
		m.world.cells.Lock()
		v := c.v
		m.world.cells.Unlock()
		return v
	}
	return c.v
}

// store writes a cell.
func (m *Machine) store(c *Cell, v value.Value) {
	if m.locked {
		m.world.cells.Lock()
		c.v, c.dirty, c.plain = v, true, false
		m.world.cells.Unlock()
		return
	}
	c.v, c.dirty, c.plain = v, true, false
}
