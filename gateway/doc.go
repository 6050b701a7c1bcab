// Package gateway lets clients in: it listens on the kernel's socket, looks at
// who is there, attaches each connection to a session, and hands it to the raw
// protocol or to MCP.
//
// A backend is the kernel as one attached connection sees it: it turns the
// calls of the method table into messages to actors and reads of the stores,
// and keeps their order. The package owns the connections and nothing else;
// sessions, tasks and plans outlive them.
package gateway
