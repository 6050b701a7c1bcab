// Package client lets Go programs use a Shoal kernel: it finds or starts the
// kernel of a state directory, attaches to a session, makes any number of
// concurrent calls, and follows channels of events.
//
// A Client outlives its kernel. When the connection is lost, open calls fail
// with -32041 (data.reason "kernel_lost"): whether they had an effect is for
// the caller to find out, best by giving exec a request_id and repeating it.
// The client then attaches again, starting a kernel if it may, and continues
// every subscription after the last event that it took; later calls wait for
// that. After an orderly stop it starts none and attaches when one serves.
//
// It promises that no call is made twice, that the events of one subscription
// come in order, each once, and that events which are gone for good are told
// of as a Gap. Kernels with another major protocol version are refused by
// Dial, and integers stay exact: in an any they are json.Number.
package client
