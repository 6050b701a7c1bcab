// Command bench measures Shoal beside what it is compared with: a bare mcp-go
// server, nushell's MCP server, and for the language shells, interpreters and
// tools. Each row's sides are measured in turns, in the same run, so that a busy
// machine slows all; the table shows medians and their ratio. Calls are measured
// in time that passes, the language in processor time. It starts private kernels
// in a temporary directory, ends them, and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are what the flags say.
type options struct {
	bin    string
	nu     string
	rows   *regexp.Regexp
	rounds int
	strict bool
}

func run(args []string, stdout, stderr io.Writer) int {
	if socket := os.Getenv(paneEnv); socket != "" && len(args) == 1 {
		return paneMain(socket, args[0])
	}
	var o options
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&o.bin, "bin", "bin", "`DIR` with the binaries of make build")
	set.StringVar(&o.nu, "nu", "", "nushell's `PROGRAM` (default: installed by npm into the temporary directory)")
	rows := set.String("rows", ".", "measure the rows whose key matches `REGEXP`")
	set.IntVar(&o.rounds, "rounds", 7, "measure each row `N` times, at least 5 for a verdict")
	set.BoolVar(&o.strict, "strict", false, "exit with 1 when a target is missed")
	list := set.Bool("list", false, "list the rows and stop")
	if set.Parse(args) != nil {
		return 2
	}
	var err error
	if o.rows, err = regexp.Compile(*rows); err != nil || o.rounds < 1 || set.NArg() > 0 {
		fmt.Fprintln(stderr, "error: bench takes -rows REGEXP and -rounds N of at least 1, and no arguments")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b, err := prepare(ctx, o, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "error: bench: %v\n", err)
		return 1
	}
	defer b.cleanUp()
	if *list {
		for _, r := range b.allRows() {
			fmt.Fprintf(stdout, "%-16s %s\n", r.key, r.what)
		}
		return 0
	}
	over, err := b.measure(stdout)
	if err != nil {
		fmt.Fprintf(stderr, "error: bench: %v\n", err)
		return 1
	}
	if over > 0 && o.strict {
		return 1
	}
	return 0
}

// measure runs every chosen row and prints the table. It returns how many
// targets were missed.
func (b *bench) measure(stdout io.Writer) (over int, err error) {
	var chosen []row
	for _, r := range b.allRows() {
		if b.o.rows.MatchString(r.key) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) == 0 {
		return 0, errors.New("no row has such a key; -list shows them")
	}
	results := make([]result, len(chosen))
	for round := range b.o.rounds {
		for i, r := range chosen {
			if results[i].absent != nil {
				continue
			}
			if err := b.ctx.Err(); err != nil {
				return 0, err
			}
			if err := results[i].take(r, round%2 == 1); errors.Is(err, errAbsent) {
				results[i].absent = err
			} else if err != nil {
				return 0, fmt.Errorf("row %s: %w", r.key, err)
			}
		}
	}
	for i, r := range chosen {
		results[i].row = r
	}
	return show(stdout, results), nil
}

// errAbsent says that something to compare with is not on this machine.
var errAbsent = errors.New("absent")

// row is one line of the table: what is measured, beside what, and how good it
// has to be.
type row struct {
	key    string
	what   string
	unit   unit
	ours   probe
	ref    string        // what the other side is
	peer   probe         // nil when the target is a number of the row's unit
	note   func() string // more to say once measured, or nil
	rivals []rival       // the other side when it is the best of several; then ref and peer are empty
	most   float64       // greatest good ratio, or number; 0: no such limit
	least  float64       // smallest good ratio, or number; 0: no such limit
}

// probe measures one side of a row once.
type probe func() (float64, error)

// result is what a row has measured.
type result struct {
	row    row
	ours   []float64
	peer   []float64
	rivals []rivalResult
	absent error
}

// take measures all sides once. Whose turn comes first changes from round to
// round.
func (r *result) take(of row, peerFirst bool) error {
	ours := func() error { return measureInto(&r.ours, of.ours) }
	theirs := func() error {
		if err := measureInto(&r.peer, of.peer); err != nil {
			return err
		}
		return r.takeRivals(of.rivals)
	}
	turns := []func() error{ours, theirs}
	if peerFirst {
		slices.Reverse(turns)
	}
	for _, turn := range turns {
		if err := turn(); err != nil {
			return err
		}
	}
	return nil
}

// measureInto measures once if there is something to measure.
func measureInto(to *[]float64, p probe) error {
	if p == nil {
		return nil
	}
	n, err := p()
	if err == nil {
		*to = append(*to, n)
	}
	return err
}

// middle is the median.
func middle(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}
