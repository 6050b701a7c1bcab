// Package journal is the kernel's memory on disk: a tail log, a bbolt store
// that the tail is folded into, and a content store beside them.
//
// A Store owns all of it, and the process holds one. Records are written one
// group at a time by whoever has the turn, the store's own goroutine or one that
// waits for its record: he assigns event numbers, writes, publishes and answers.
// Store needs no actor; NewActor is a thin shell round it, and killing that
// actor loses nothing.
//
// It promises that an acknowledged record survives the death of the process
// (and a power cut, when it asked for that), whole or not at all; that events
// of a channel are numbered from 0 without gap or repeat, across restarts; that
// a counter never hands out a number twice; that a reader sees a record from
// the moment it is acknowledged; and that content which no longer matches its
// checksum is reported by name and never served.
//
// It never interprets rows, never marks entries interrupted (its caller does,
// from Running), and after a failed write it never writes again: every later
// answer is an error until the store is opened anew.
package journal
