package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// languageRows compare evaluation with Python's, and with Go as the limit.
func (b *bench) languageRows() []row {
	var rows []row
	for _, w := range workloads {
		ours := func() (float64, error) { return b.evaluate(w.shoal, w.want) }
		rows = append(rows,
			row{key: "lang." + w.key, what: w.what, unit: millis, ours: ours, ref: "python3", peer: b.python(w)},
			row{key: "limit." + w.key, what: w.what, unit: millis, ours: ours, ref: "compiled Go", peer: native(w)})
	}
	return rows
}

// workload is one computation in three languages.
type workload struct {
	key, what string
	want      string
	shoal     string
	python    string // an expression, or statements that end with setting r
	native    func() int
}

var workloads = []workload{
	{
		key: "fib", what: "fib(25)", want: "75025",
		shoal:  "fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\nfib(25)",
		python: "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nr = fib(25)",
		native: func() int { return fib(25) },
	},
	{
		key: "loop", what: "loop of 1,000,000 turns", want: "499999500000",
		shoal:  "fn f() { var s = 0; var i = 0; while i < 1000000 { s = s + i; i = i + 1 }; s }\nf()",
		python: "def f():\n s = i = 0\n while i < 1000000:\n  s += i; i += 1\n return s\nr = f()",
		native: func() int {
			s := 0
			for i := range 1_000_000 {
				s = add(s, i)
			}
			return s
		},
	},
	{
		key: "closure", what: "map, where and sum over 300,000", want: "29999700000",
		shoal:  "(0..300000).map(x => x * 2).where(x => x % 3 == 0).sum()",
		python: "r = sum(filter(lambda x: x % 3 == 0, map(lambda x: x * 2, range(300000))))",
		native: func() int {
			s := 0
			for i := range 300_000 {
				if x := double(i); multiple(x) {
					s += x
				}
			}
			return s
		},
	},
}

// The functions of the Go side are called, as those of the others are.

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func add(a, b int) int { return a + b }

//go:noinline
func double(x int) int { return x * 2 }

//go:noinline
func multiple(x int) bool { return x%3 == 0 }

// python measures a workload inside a running interpreter: its start is not
// counted.
func (b *bench) python(w workload) probe {
	return func() (float64, error) {
		if _, err := exec.LookPath("python3"); err != nil {
			return 0, fmt.Errorf("%w: %w", errAbsent, err)
		}
		src := "import time\nt = time.perf_counter()\n" + w.python + "\nprint(time.perf_counter() - t, r)"
		out, err := exec.CommandContext(b.ctx, "python3", "-I", "-S", "-c", src).Output()
		if err != nil {
			return 0, fmt.Errorf("python3: %w", err)
		}
		took, got, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		if got != w.want {
			return 0, fmt.Errorf("python3: got %s, want %s", got, w.want)
		}
		return strconv.ParseFloat(took, 64)
	}
}

func native(w workload) probe {
	return func() (float64, error) {
		start := time.Now()
		got := w.native()
		took := time.Since(start)
		if strconv.Itoa(got) != w.want {
			return 0, errors.New("go: wrong answer " + strconv.Itoa(got))
		}
		return took.Seconds(), nil
	}
}
