// Package bus carries events from those who wrote them to those who follow: to
// cursors within the kernel, and to NATS clients outside.
//
// A Bus owns an embedded NATS server, the rings of the channels that are being
// followed, and the channels that live in memory only, whose events it numbers.
// It outlives its actor, which is a shell that restarts the server.
//
// A cursor is a place in a channel's ring. Its reader takes events one by one, or
// their frames: the bytes that all raw subscribers of the channel get, made once
// and kept side by side in the ring, so that all that has come since the last time
// is one slice. For readers of frames that are behind, a ring is kept up to 16
// times as long.
//
// It promises that publishing never waits for a reader; that a cursor yields
// every event after its start once and in order, from the journal, the ring and
// the live stream, and says so, in order, when events are no longer kept; and
// that every event reaches NATS at least once while the server is up, the newest
// of each channel again after a restart. NATS clients drop duplicates by number
// and read what they missed by cursor.
//
// It never writes events to disk and never decides who may read them.
package bus
