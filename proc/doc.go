// Package proc starts, captures, stops, continues and kills process trees.
//
// A Runner belongs to one kernel and owns everything it starts until that has
// ended: pipes, readers, the record of which trees are alive, and the files
// that mirror the newest output of running tasks. Captures and outputs belong
// to whoever asked for them and are released with Close.
//
// It promises that a command is finished when its direct child is reaped and a
// short drain has passed, never at end of file; that what descendants print
// later never enters a stored capture; that cancelling always comes to an end
// within a bound, with the survivors named; and that memory stays flat however
// much is printed.
//
// On Linux New makes the calling process a child subreaper, so that orphaned
// descendants stay findable, and reaps adopted ones itself by pid. It never
// waits for "any child": processes started by other code of the kernel keep
// their exit status.
//
// It never decides whether something may run, never confines (that is the
// launcher's part) and never reads the environment of its own process.
package proc
