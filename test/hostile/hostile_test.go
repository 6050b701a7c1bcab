package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// patience is how long an attack may run before it is cancelled.
func patience() time.Duration {
	if *all {
		return 3 * time.Second
	}
	return 500 * time.Millisecond
}

// aim is within what time, beyond what the machine takes, the other session is
// to be answered and a cancel to take effect; what takes longer is listed.
const aim = 250 * time.Millisecond

// settled is within what time the kernel's memory has to come back.
const settled = 30 * time.Second

// restMost is how much more than at the start an idle kernel may hold after
// all attacks, in bytes: 256 MiB are for the output of ended tasks.
const restMost = (256 + 128) << 20

func TestHostileSources(t *testing.T) {
	w := kit.NewWorld(t, bin)
	kernel := w.StartKernel()
	other := w.Facade("other")
	other.Exec("1 + 1")
	before := kit.Resident(kernel.PID)
	p := startProbe(t, kernel.PID, func() {
		if a := other.Tool("shoal_exec", kit.Args{"src": "1 + 1"}); a.Text != "2" {
			t.Errorf("1 + 1 in the other session: got %v", a)
		}
	})
	machine := startProbe(t, 0, echo(t))
	fmt.Printf("%-44s %-18s %8s %8s %8s %8s %8s %8s %8s %7s\n",
		"source", "ended in", "after", "cancel", "close", "worst", "p99", "machine", "peak MiB", "answers")
	var worst, worstMachine time.Duration
	var slow []string
	ran := 0 // -run may choose some
	for _, a := range chosen(*all) {
		t.Run(a.name, func(t *testing.T) {
			ran++
			a.writeInputs(t, w)
			f := w.Facade(sessionName(a.name))
			f.T = t
			p.take()
			machine.take()
			o := a.run(t, f)
			o.closed = closeSession(t, w, sessionName(a.name))
			f.Close()
			r, m := p.take(), machine.take()
			worst, worstMachine = max(worst, r.worst), max(worstMachine, m.worst)
			fmt.Printf("%-44s %-18s %8s %8s %8s %8s %8s %8s %8d %7d\n", a.name, o.ending, short(o.took), short(o.cancelled),
				short(o.closed), short(r.worst), short(r.late), short(m.worst), r.peak>>20, r.asked)
			if over := max(r.worst, o.cancelled) - m.worst; over > aim {
				slow = append(slow, fmt.Sprintf("%s (%s)", a.name, short(over)))
			}
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
	fmt.Printf("%d attacks, worst answer of the other session %s, of the machine %s\n", ran, short(worst), short(worstMachine))
	fmt.Printf("more than %s beyond the machine: %d: %s\n", aim, len(slow), strings.Join(slow, ", "))
	p.end() // an idle kernel gives memory back
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

// closeSession ends what the attack has left running, and gives how long that
// took.
func closeSession(t *testing.T, w *kit.World, name string) time.Duration {
	t.Helper()
	began := time.Now()
	r := w.Raw(name)
	defer r.Close()
	if _, err := r.Call("session.close", kit.Args{}); err != nil {
		t.Errorf("close the session: %v", err)
	}
	return time.Since(began)
}

// outcome is how an attack went.
type outcome struct {
	ending                  string
	took, cancelled, closed time.Duration
}

// run starts the attack, cancels it when it takes too long, and checks how it
// ended.
func (a attack) run(t *testing.T, f *kit.Facade) outcome {
	began := time.Now()
	got := f.Tool("shoal_exec", kit.Args{"src": a.src, "timeout_ms": patience().Milliseconds()})
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

// input is a file that attacks read.
type input struct {
	large bool
	text  func() string // nil: 1 GiB of zeros
}

// files are the inputs by name.
var files = map[string]input{
	"big.bin": {true, nil},
	"big.json": {true, func() string {
		return "[" + fill(`{"id":12345,"name":"some name","tags":["a","b"],"n":{"x":1.5}},`, 100<<20) + "{}]"
	}},
	"big.csv":        {true, func() string { return "a,b,c,d\n" + fill("12345,some name,\"quoted, text\",1.5\n", 100<<20) }},
	"big.yaml":       {true, func() string { return fill("- id: 12345\n  name: some name\n", 10<<20) }},
	"wide.json":      {true, func() string { return `{"k":"` + fill("x", 200<<20) + `"}` }},
	"digits.json":    {true, func() string { return fill("9", 50<<20) }},
	"keys.json":      {true, func() string { return manyKeys(1_000_000) }},
	"numbers.json":   {true, func() string { return "[" + fill("1e308,-0.0,1e-400,", 50<<20) + "0]" }},
	"quote.csv":      {true, func() string { return "a,b\n\"" + fill("x\n", 100<<20) }},
	"commas.csv":     {true, func() string { return fill(",", 20<<20) }},
	"columns.csv":    {true, func() string { return fill("c,", 1<<20) + "\n" + fill("1,", 1<<20) + "\n" }},
	"deep.json":      {false, func() string { return around("[", "", "]", 1_000_000) }},
	"deeprec.json":   {false, func() string { return around(`{"a":`, "1", "}", 200_000) }},
	"deep.yaml":      {false, func() string { return around("[", "", "]", 1_000_000) }},
	"deepmap.yaml":   {false, func() string { return around("{a: ", "1", "}", 200_000) }},
	"deepblock.yaml": {false, deepBlocks},
	"deep.toml":      {false, func() string { return "a = " + around("[", "", "]", 1_000_000) }},
	"deeptab.toml":   {false, func() string { return "a = " + around("{a = ", "1", "}", 200_000) }},
	"deepkey.toml":   {false, func() string { return fill("a.", 1<<20) + "a = 1" }},
	"bomb.yaml":      {false, yamlBomb},
}

// fill repeats s up to about n bytes.
func fill(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// deepBlocks are 3,000 YAML maps, each within the one before by its indent.
func deepBlocks() string {
	var b strings.Builder
	for i := range 3000 {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

// writeInputs makes the files that the attack reads, unless they are there.
func (a attack) writeInputs(t *testing.T, w *kit.World) {
	for name, in := range files {
		path := filepath.Join(w.Work, name)
		if _, err := os.Stat(path); err == nil || !strings.Contains(a.src, name) {
			continue
		}
		text := ""
		if in.text != nil {
			text = in.text()
		}
		w.Write(name, text)
		if in.text != nil {
			continue
		}
		if err := os.Truncate(path, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
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
