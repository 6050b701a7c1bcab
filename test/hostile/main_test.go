// Package hostile runs sources that try to crash, hang or exhaust a real
// kernel, through shoal-mcp. Each must end in a value, an error or a cancel;
// meanwhile a second session asks 1 + 1 without pause. How long its answers
// took, beside what a question through pipes takes on the machine, how much
// memory the kernel took and how long cancels took is printed; -goal and -memory
// make it a verdict. A sample runs in half a minute; -all runs all in a quarter of
// an hour.
package hostile

import (
	"flag"
	"os"
	"testing"
	"time"

	"shoal.dev/shoal/test/kit"
)

var (
	all    = flag.Bool("all", false, "run all attacks, not a sample")
	goal   = flag.Duration("goal", 5*time.Second, "the other session's answers and cancels may take `D`")
	memory = flag.Int64("memory", 4096, "the kernel may take `N` MiB")
)

// bin holds the binaries under test; TestMain sets it before any test runs.
var bin string

func TestMain(m *testing.M) {
	os.Exit(kit.Main(m, &bin))
}
