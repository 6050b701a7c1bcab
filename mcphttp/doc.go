// Package mcphttp carries MCP over Streamable HTTP, on net/http.
//
// A Server listens on a loopback address and lets in who brings a bearer token.
// Both eras of the protocol share the endpoint, request by request. With a
// handshake, an HTTP session is one connection of package mcp: its requests go
// in by POST in the order in which they came, each is answered on its own
// response, and what belongs to no request goes out on the GET stream. Without
// one, each request is a connection of its own, on a seat in the kernel session
// that the requests of one token share.
//
// A short answer is plain JSON; one that takes longer, or has something to say
// before it, becomes an event stream. Events of a session are numbered and kept
// within bounds, so that a client that lost a stream gets the rest of it by
// Last-Event-ID. Who loses a request before its answer has spent its wait
// budget: an execution becomes a task.
//
// It promises that frames of a stream leave in order, that a slow or silent
// peer holds up nobody else, that bodies, connections, sessions and kept events
// are bounded, and that Close leaves nothing running.
package mcphttp
