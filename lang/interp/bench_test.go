package interp_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
)

func bench(b *testing.B, src string, per int) {
	b.Helper()
	p, perr := interp.Parse(src, syntax.Names{}, builtin.Library())
	if perr != nil {
		b.Fatal(perr)
	}
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		if _, err := p.Run(context.Background(), interp.Run{State: interp.NewState("/", nil)}); err != nil {
			b.Fatal(err)
		}
	}
	spent := cpuTime(b) - before
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N)/float64(per), "cpu-ns/step")
}

// cpuTime is the processor time of the process: wall time says little on a
// machine that is shared.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkFib(b *testing.B) {
	bench(b, "fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } }\nfib(25)", 242785)
}

func BenchmarkWhileGlobal(b *testing.B) {
	bench(b, "var s = 0\nvar i = 0\nwhile i < 1000000 { s += i; i += 1 }\ns", 1000000)
}

func BenchmarkWhileLocal(b *testing.B) {
	bench(b, "fn f() { var s = 0; var i = 0; while i < 1000000 { s = s + i; i = i + 1 }; s }\nf()", 1000000)
}

func BenchmarkForRange(b *testing.B) {
	bench(b, "var s = 0\nfor i in 0..1000000 { s += i }\ns", 1000000)
}

func BenchmarkPipeline(b *testing.B) {
	bench(b, "(0..300000).map(x => x * 2).where(x => x % 3 == 0).sum()", 300000)
}

func BenchmarkWhereField(b *testing.B) {
	bench(b, "let xs = (0..100000).map(i => {age: i % 100, name: \"x\"})\nfor _ in 0..10 { xs.where(.age > 60) }", 1000000)
}

func BenchmarkClosureCalls(b *testing.B) {
	bench(b, "let add = (a, b) => a + b\nvar s = 0\nfor i in 0..300000 { s = add(s, i) }\ns", 300000)
}
