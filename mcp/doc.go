// Package mcp is the surface that agents see: the Model Context Protocol over
// one connection, in front of the kernel's own calls.
//
// A Server holds what all connections share and what never changes: the tool
// table with its schemas, the instructions, and the protocol library that
// negotiates revisions. Serve owns one connection for as long as it lasts: the
// open calls, the subscriptions, the log level. Requests of both eras of the
// protocol, with a handshake and without, share a connection (see era.go).
// Everything else belongs to the kernel behind the Backend.
//
// It promises that calls are handed to the backend in the order in which they
// were written, that ids and integers stay exact, that frames leave whole and
// in order (progress before its reply), that a cancelled call is not answered,
// that what is shown stays within 64 KiB, and that nothing of a connection is
// left when Serve returns. Memory per connection is bounded whatever the peer
// sends.
//
// It never runs, decides or remembers anything of its own: a tool is a kernel
// call in another dress, and a subscription is a cursor of the kernel.
package mcp
