// Package screen turns a program's output into what a terminal would show.
//
// A Screen is owned by one goroutine at a time: the caller serialises its
// methods. What readers get is immutable and safe to share: a Snapshot, lines
// of scrollback, reply bytes.
//
// It promises that no byte sequence panics, hangs or grows memory past the
// limits; that UTF-8 and escape sequences may be cut anywhere between writes;
// and that answers to a program's queries are queued, never written.
//
// There are two engines. Our own keeps a ring of rows of compact cells and shows
// what xterm shows. The second keeps its cells in charmbracelet/x/vt; it is slow
// and large, and there for whoever doubts the first. Both share the parser, the
// modes, the answers and the scrollback.
//
// It never touches a device, starts no goroutine and keeps no time.
package screen
