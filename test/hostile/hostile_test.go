package hostile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// patience is how long an attack may run before it is cancelled.
const patience = 3 * time.Second

// settled is within what time the kernel's memory has to come back.
const settled = 30 * time.Second

// restMost is how much more than at the start an idle kernel may hold after
// all attacks, in bytes.
const restMost = 128 << 20

func TestHostileSources(t *testing.T) {
	if !*all {
		t.Skip("takes many minutes: make hostile, or -args -all")
	}
	w := kit.NewWorld(t, bin)
	kernel := w.StartKernel()
	writeInputs(t, w)
	other := w.Facade("other")
	other.Exec("1 + 1")
	before := kit.Resident(kernel.PID)
	p := startProbe(t, kernel.PID, func() {
		if a := other.Tool("shoal_exec", kit.Args{"src": "1 + 1"}); a.Text != "2" {
			t.Errorf("1 + 1 in the other session: got %v", a)
		}
	})
	machine := startProbe(t, 0, echo(t))
	fmt.Printf("%-34s %-22s %8s %8s %8s %8s %8s %8s %7s\n",
		"source", "ended in", "after", "cancel", "worst", "p99", "machine", "peak MiB", "answers")
	var worst time.Duration
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			f := w.Facade(sessionName(a.name))
			f.T = t
			p.take()
			machine.take()
			o := a.run(t, f)
			f.Close()
			r, m := p.take(), machine.take()
			worst = max(worst, r.worst)
			fmt.Printf("%-34s %-22s %8s %8s %8s %8s %8s %8d %7d\n", a.name, o.ending, short(o.took), short(o.cancelled),
				short(r.worst), short(r.late), short(m.worst), r.peak>>20, r.asked)
			if r.worst > *goal+m.worst {
				t.Errorf("worst answer of the other session: got %s, want at most %s", r.worst, *goal)
			}
			if o.cancelled > *goal+m.worst {
				t.Errorf("cancel: took %s, want at most %s", o.cancelled, *goal)
			}
			if r.peak>>20 > *memory && !kit.Raced() {
				t.Errorf("memory of the kernel: got %d MiB, want at most %d", r.peak>>20, *memory)
			}
		})
		select {
		case <-kernel.Done():
			t.Fatalf("%s: the kernel has ended: %s", a.name, kernel.Stderr())
		default:
		}
	}
	fmt.Printf("worst answer of the other session: %s\n", short(worst))
	least := kit.Resident(kernel.PID)
	back := kit.Within(settled, func() bool {
		least = min(least, kit.Resident(kernel.PID))
		return least < before+restMost
	})
	fmt.Printf("memory at the start %d MiB, at the end %d MiB\n", before>>20, least>>20)
	if !back && !kit.Raced() {
		t.Errorf("memory does not come back: %d MiB before, %d MiB after", before>>20, least>>20)
	}
}

// outcome is how an attack went.
type outcome struct {
	ending          string
	took, cancelled time.Duration
}

// run starts the attack, cancels it when it takes too long, and checks how it
// ended.
func (a attack) run(t *testing.T, f *kit.Facade) outcome {
	began := time.Now()
	got := f.Tool("shoal_exec", kit.Args{"src": a.src, "timeout_ms": patience.Milliseconds()})
	o := outcome{ending: endingOf(got), took: time.Since(began)}
	if task := got.Structured.At("task").Str(); got.Structured.At("timed_out").Bool() {
		began := time.Now()
		f.MustTool("shoal_cancel", kit.Args{"task": task})
		rec := f.AwaitEnd(task)
		o.cancelled = time.Since(began)
		o.ending = rec.At("state").Str()
		if o.ending == string(messages.TaskCompleted) {
			o.ending = "value"
		}
		if code := rec.At("error", "code").Str(); o.ending == string(messages.TaskFailed) && code != "" {
			o.ending = code
		}
	}
	// On a slow machine every attack may need a cancel.
	if o.ending != "cancelled" && !slices.Contains(strings.Split(a.ends, "|"), o.ending) {
		t.Errorf("ended in %s, want %s: %.300s", o.ending, a.ends, got.String())
	}
	if len(got.String()) > 256<<10 {
		t.Errorf("the answer has %d bytes", len(got.String()))
	}
	return o
}

// endingOf names the end of an execution: value, timed out, or an error code.
func endingOf(a kit.Answer) string {
	switch {
	case a.Structured.At("timed_out").Bool():
		return "timed out"
	case a.Code() == messages.CodeRaised:
		return a.Structured.At("data", "error", "code").Str()
	case a.Code() != 0:
		return a.Code().Name()
	}
	return "value"
}

func short(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.Round(time.Millisecond).String()
}

// writeInputs makes the large files that attacks read.
func writeInputs(t *testing.T, w *kit.World) {
	big, err := os.Create(w.Write("big.bin", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer big.Close()
	if err := big.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	row := `{"id":12345,"name":"some name","tags":["a","b"],"n":{"x":1.5}},`
	w.Write("big.json", "["+strings.Repeat(row, (100<<20)/len(row))+"{}]")
	line := "12345,some name,\"quoted, text\",1.5\n"
	w.Write("big.csv", "a,b,c,d\n"+strings.Repeat(line, (100<<20)/len(line)))
	item := "- id: 12345\n  name: some name\n"
	w.Write("big.yaml", strings.Repeat(item, (10<<20)/len(item)))
	w.Write("deep.json", strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000))
	w.Write("deep.yaml", strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000))
	w.Write("bomb.yaml", yamlBomb())
	w.Write("wide.json", `{"k":"`+strings.Repeat("x", 200<<20)+`"}`)
	w.Write("digits.json", strings.Repeat("9", 50<<20))
	w.Write("keys.json", manyKeys(1_000_000))
}

// yamlBomb is a few lines whose aliases stand for 10^9 items.
func yamlBomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := byte('b'); c <= 'i'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	return b.String()
}

// manyKeys is a JSON record of n fields.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%c\"k%d\":%d", "{,"[min(i, 1)], i, i)
	}
	return b.String() + "}"
}

// sessionName is a name of letters for the session of an attack.
func sessionName(attack string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(attack))
	return name[:min(len(name), 64)]
}
