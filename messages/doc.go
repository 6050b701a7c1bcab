// Package messages holds what actors say to each other and what leaves the
// kernel: ids, requests, replies, facts and error codes.
//
// Every type is a plain struct, sent by value and never changed afterwards:
// byte slices in them are read-only. There are no channels, functions,
// contexts, process ids or language values here; what leaves a session is
// already rendered and elided. Requests are verbs and name their reply with a
// Reply method, replies are nouns, facts are in the past tense. A refusal is an
// Error, the same thing as on the wire.
package messages
