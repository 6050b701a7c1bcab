// Package chaos kills what can be killed while callers work: the kernel's
// process with -9, its actors one by one, its journal's disk. Callers write
// values that say who wrote them and when, and keep a ledger of what was
// acknowledged; after each blow the ledger is held against the kernel. Runs are
// bounded by counts, -cycles and -rounds; times are printed, not judged.
package chaos

import (
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"shoal.dev/shoal/test/kit"
)

var (
	cycles = flag.Int("cycles", 6, "kill the kernel's process `N` times")
	rounds = flag.Int("rounds", 1, "run each in-process storm `N` times")
)

// bin holds the binaries under test; TestMain sets it before any test runs.
var bin string

func TestMain(m *testing.M) {
	// The first use of signals starts a goroutine for the life of the process;
	// it is none that a kernel leaves behind.
	signal.Stop(notified())
	os.Exit(kit.Main(m, &bin))
}

func notified() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGCHLD)
	return c
}
