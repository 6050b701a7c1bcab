// Package wire is the kernel's JSON-RPC protocol on a byte stream: frames,
// requests and replies, the method table, a server loop and a Go client.
//
// A frame is one compact JSON object per line, at most MaxFrame bytes. A Conn
// owns its reader and its one ordered writer; whoever made the Conn closes it.
//
// It promises that ids come back byte for byte, that integers stay exact, that
// calls reach the Handler in the order in which they were written, that frames
// are written whole, and that memory per connection is bounded whatever the
// peer sends. It never interprets a method's parameters by itself, never
// decides who may call what, and imports nothing beyond the standard library,
// because every facade process links it.
package wire

// ProtocolVersion is MAJOR.MINOR of this protocol. Peers with another major do
// not talk to each other.
const ProtocolVersion = "1.0"

// MethodGoodbye is the notification by which a kernel says that it stops in
// order and is not to be started again by those whom it served.
const MethodGoodbye = "notifications/shoal/goodbye"

// MethodEvent is the notification that carries one event of a subscription.
const MethodEvent = "event"
