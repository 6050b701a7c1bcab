// Package supervisor says how actors live: how they are spawned, asked,
// restarted, given up and stopped.
//
// A System owns the one actor system of a process and the list of its live
// actors; an actor owns its own state. Every actor is spawned by System.Spawn
// or System.SpawnChild, which put a guard and a mailbox of our own round it.
// The guard promises:
//
//   - Whoever asked an actor that panics, stops, has stopped or never existed
//     gets a *Failed that carries the request, at once.
//   - A panic in Stopping, Stopped or Restarting is logged and swallowed, so
//     that the lifecycle goes on.
//   - A stop is final: a restart that comes during or after it does nothing.
//   - *actor.Terminated is not delivered from a failure, Restarting or Stopping
//     until the next Started. Started must look at the world for itself.
//   - A message is held until the actor has handled Started, and from a failure
//     until the new instance has; none is lost but the one that failed.
//   - A name is free for SpawnChild as soon as Stop was called on its holder.
//
// A restart makes a fresh instance: Started builds up, and both Restarting and
// Stopped tear down (a stop during a restart delivers both to one instance, so
// tearing down must bear being done twice). When an actor has spent its budget
// of restarts it is stopped, Spec.GaveUp is called and an event is published.
//
// The package never retries a request, never keeps a message for an actor that
// is gone, and never runs callbacks on an actor's goroutine. Of the library it
// uses no futures, stash, receive timeouts, bounded mailboxes, backoff or
// system shutdown.
package supervisor
