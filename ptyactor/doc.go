// Package ptyactor runs programs in terminals.
//
// A terminal has two halves. The Host owns what must survive a crash of the
// actor: device, child, screen, pending waits, queued input. Hosts live in a
// Registry, which belongs to the kernel. The actor pty/<n> is a thin client
// that adopts its host when it starts; killing it loses nothing. The actor
// ptys above knows sessions and limits and passes requests on.
//
// The package promises that output written before the child's exit is never
// lost, that the screen is read without waiting for the child, that a child
// that does not read blocks nobody but its own input, and that closing ends
// every process of the terminal within about a second.
//
// It never decides whether a program may run, and never interprets output
// itself: that is package screen's part.
package ptyactor
