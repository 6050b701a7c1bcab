// Package host is the real world behind the language: the file system, programs
// started through package proc, and the policy wrapper round both.
//
// It owns nothing that outlives a run. Every operation takes the caller's
// context and absolute paths; the process's own directory and environment are
// never used. Guard wraps a host so that each effect is judged before it
// happens, and no builtin can forget to ask.
package host
