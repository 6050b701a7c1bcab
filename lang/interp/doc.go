// Package interp runs programs: it compiles a resolved tree into Go closures
// over unboxed values and runs them on one machine.
//
// A Program is immutable and may be shared between sessions. A State is what a
// session keeps between its programs: bindings, working directory, environment,
// directory stack; it owns its cells, and every Machine that runs on it or on a
// fork of it borrows them. A Machine is one run on one goroutine.
//
// Modules and scripts are units whose top-level names live in a scope of their
// own. The machine that meets a `use`, source or run compiles and runs the file
// in place; a session loads a module once, whichever of its machines ask.
//
// It promises that nothing a program does ends the process: calls are counted,
// arithmetic is checked, a panic becomes an internal error, and cancellation is
// seen at every loop turn, call and blocking operation. It never touches the
// world except through the Host it was given, and it knows no builtin by name:
// those are rows of a Library.
package interp
