// Package actors holds the kernel's state machines: sessions, tasks, plans and
// principals.
//
// A session keeps one line of executions, the language state they share, and
// the transcript of their values; each of its executions is answered exactly once.
// A task is one run of a program with everything it started; one that lasts for
// some milliseconds has an actor, as most are over before theirs would be up. What must outlive
// a crash of an actor lies in a host struct (sessionHost, Run, planHost) that
// the registry owns and the actor's producer closes over: facts go there before
// the message that announces them, and a fresh instance looks there first. What
// must outlive the kernel goes through the journal before it is answered.
//
// Handlers never block, evaluate or wait for another actor: compiling, running,
// encoding and reading happen in goroutines that a run or a request owns.
package actors
