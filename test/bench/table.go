package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

// unit is what a row's numbers mean.
type unit string

// The units. Times are kept in seconds and sizes in bytes.
const (
	micros  unit = "µs"
	millis  unit = "ms"
	perSec  unit = "/s"
	mebi    unit = "MiB"
	kibi    unit = "KiB"
	percent unit = "%"
	octets  unit = "B"

	plainNumber unit = ""
)

// format writes a number with its unit.
func (u unit) format(n float64) string {
	switch u {
	case micros:
		if n < 10e-6 {
			return strconv.FormatFloat(n*1e6, 'f', 2, 64) + " µs"
		}
		return strconv.FormatFloat(n*1e6, 'f', 0, 64) + " µs"
	case millis:
		return strconv.FormatFloat(n*1e3, 'f', 1, 64) + " ms"
	case perSec:
		return strconv.FormatFloat(n, 'f', 0, 64) + " /s"
	case mebi:
		return strconv.FormatFloat(n/(1<<20), 'f', 1, 64) + " MiB"
	case kibi:
		return strconv.FormatFloat(n/(1<<10), 'f', 1, 64) + " KiB"
	case octets:
		return strconv.FormatFloat(n, 'f', 0, 64) + " B"
	default:
		return strconv.FormatFloat(n, 'g', 3, 64)
	}
}

// show prints the table and returns how many targets were missed.
func show(out io.Writer, results []result) (over int) {
	fmt.Fprintf(out, "%d processors; load %s; medians of %d rounds\n\n", runtime.NumCPU(), load(), rounds(results))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tours\tbeside\tits\tratio\ttarget\t")
	for _, r := range results {
		if r.absent != nil {
			fmt.Fprintf(w, "%s\t\t%s\t\t\t%s\tnot measured: %v\n", r.row.what, r.row.ref, r.row.target(), r.absent)
			continue
		}
		ours, peer := middle(r.ours), r.best()
		verdict, bad := r.verdict()
		if bad {
			over++
		}
		its, ratio := "", ""
		if r.row.compared() {
			its, ratio = r.row.unit.format(peer), ratioText(ours/peer)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.row.what, r.row.unit.format(ours), r.ref(), its, ratio, r.row.target(), verdict+r.others()+r.row.notes())
	}
	w.Flush()
	return over
}

// notes is what a row has to say beyond its numbers.
func (r row) notes() string {
	if r.note == nil {
		return ""
	}
	return r.note()
}

// ratioText writes a ratio; small ones with more places.
func ratioText(n float64) string {
	if n < 0.1 {
		return strconv.FormatFloat(n, 'f', 4, 64)
	}
	return strconv.FormatFloat(n, 'f', 2, 64)
}

func rounds(results []result) int {
	most := 0
	for _, r := range results {
		most = max(most, len(r.ours))
	}
	return most
}

// target says what the row wants, in words.
func (r row) target() string {
	value := func(n float64) string {
		if r.compared() {
			return strconv.FormatFloat(n, 'g', 3, 64) + "×"
		}
		return r.unit.format(n)
	}
	var parts []string
	if r.most > 0 {
		parts = append(parts, "≤ "+value(r.most))
	}
	if r.least > 0 {
		parts = append(parts, "≥ "+value(r.least))
	}
	return strings.Join(parts, ", ")
}

// verdict compares the medians with the target.
func (r *result) verdict() (text string, over bool) {
	if r.row.most == 0 && r.row.least == 0 {
		return "", false
	}
	n := middle(r.ours)
	if r.row.compared() {
		n /= r.best()
	}
	if r.row.most > 0 && n > r.row.most || r.row.least > 0 && n < r.row.least {
		return "over", true
	}
	return "ok", false
}
