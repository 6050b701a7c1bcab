// Package builtin is the standard library of the language: a table with one
// row per command head, method, computed field, namespace member and
// constructor. A row holds the name, the signature, the effects, a line of
// documentation and the function, and is the only source for dispatch, for
// checking arguments, for plans, for help and for the printed reference.
//
// The table is built by Library and never changed, so one Lib may serve all
// sessions at once. Functions keep no state: what they need of the session
// they ask of the Machine in their call, and they reach the world only through
// its Host. They never panic on any argument a program can make, and long ones
// watch for cancellation. They do not decide what is allowed; a host does.
package builtin
