// Package link is the client's way to a kernel: find its state directory and
// socket, start one if none serves, dial, attach, attach again; and the relay
// that joins an MCP client's stdio to it.
//
// The files it reads belong to the kernel, except STATE/start.lock, which is
// held by whoever starts one. A relay owns what it must remember to survive its
// kernel and nothing else.
//
// It promises that racing clients end with one kernel, that a kernel which is
// slow, or which serves, is never replaced or killed, and that every request a
// client made is answered while the client is there. It never decodes what it
// relays beyond the members that route it, never reads the environment by
// itself, and imports nothing beyond the standard library: a machine may run a
// thousand of these processes.
package link
