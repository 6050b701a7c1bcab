// Package e2e tests the built binaries as their users run them: agents over
// the stdio of shoal-mcp, programs over the raw protocol, people over the
// command line. Every test has a private world (see kit) whose kernels are
// stopped, and whose processes are counted, at its end.
package e2e

import (
	"os"
	"testing"

	"shoal.dev/shoal/test/kit"
)

// bin holds the binaries under test; TestMain sets it before any test runs.
var bin string

func TestMain(m *testing.M) {
	os.Exit(kit.Main(m, &bin))
}

// world is a private world without a kernel.
func world(t *testing.T) *kit.World {
	t.Helper()
	return kit.NewWorld(t, bin)
}

// served is a private world with a kernel and a raw client of it.
func served(t *testing.T) (*kit.World, *kit.Raw) {
	t.Helper()
	w := world(t)
	w.StartKernel()
	return w, w.Raw("main")
}

// repeat is how often a race is tried: n times, a few with -short.
func repeat(n int) int {
	if testing.Short() {
		return min(n, 3)
	}
	return n
}
