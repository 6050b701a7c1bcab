package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	keptScreens = 40        // terminals whose memory is averaged
	ptyMost     = 512 << 10 // resident bytes of one with 1,000 lines of scrollback
	echoMost    = 50e-3     // seconds from a key to its echo on the screen, with 500 terminals
	wakeMost    = 5e-3      // seconds from a byte to the answer of the wait for it
	wakes       = 60
	floodMost   = 50e-3 // seconds of a `1 + 1` beside a terminal that floods
	floodCalls  = 60
	reads       = 200
)

// ptyRows measure terminals through a kernel: a program on a real device, and
// an agent that uses the tools.
func (b *bench) ptyRows() []row {
	var rows []row
	for _, o := range outputs() {
		rows = append(rows, b.drawnRow(o))
	}
	return append(rows,
		row{key: "pty.heap", what: "kernel's growth for an 80x24 terminal with 1,000 lines of scrollback, resident", unit: mebi,
			ours: func() (float64, error) {
				grown, err := b.keptTerminals(keptScreens, terminalLines+terminalRows)
				return grown / keptScreens, err
			}, most: ptyMost},
		row{key: "pty.heap.500", what: "kernel's growth for 500 terminals, resident", unit: mebi,
			ours: func() (float64, error) { return b.keptTerminals(manyScreens, 0) }, most: manyMost},
		b.echoRow(),
		b.floodRow(),
		row{key: "pty.read", what: "kernel's processor time for a read of a full 200x50 screen, beyond a call's", unit: micros,
			ours: b.readTerminal, most: readMost},
		row{key: "pty.wait", what: "byte on the device to the answer of the wait for it, p95", unit: millis,
			ours: b.wakeUp, most: wakeMost},
	)
}

// drawnRow draws a data set on a terminal of a kernel and on one of tmux. Its
// note has what both spent of the processor, which a busy machine leaves alone.
func (b *bench) drawnRow(o output) row {
	var ours, theirs []float64
	return row{
		key: "pty." + o.key, what: "draw 4 MB of " + o.what + " in a terminal", unit: millis, most: 1, ref: "tmux",
		ours: func() (float64, error) {
			took, worked, err := b.drawKernel(o)
			ours = append(ours, worked)
			return took, err
		},
		peer: func() (float64, error) {
			took, worked, err := b.drawTmux(o)
			theirs = append(theirs, worked)
			return took, err
		},
		note: func() string {
			mine, its := middle(ours), middle(theirs)
			return fmt.Sprintf("; processor %s beside %s, %s×", millis.format(mine), millis.format(its), ratioText(mine/its))
		},
	}
}

// echoRow has `1 + 1` beside it, whose slowest is what the machine takes for any
// call.
func (b *bench) echoRow() row {
	var sums []float64
	return row{
		key: "pty.echo.500", what: "key to echo on the screen with 500 terminals, 16 at a time, the slowest of all", unit: millis, most: echoMost,
		ours: func() (float64, error) {
			echo, sum, err := b.manyEchoes()
			sums = append(sums, sum)
			return echo, err
		},
		note: func() string { return "; the slowest of as many `1 + 1` " + millis.format(middle(sums)) },
	}
}

// floodRow has the same calls without a flood beside it.
func (b *bench) floodRow() row {
	var alone []float64
	return row{
		key: "pty.yes", what: "`1 + 1` in another session while a terminal runs `yes`, p95", unit: millis, most: floodMost,
		ours: func() (float64, error) {
			flooded, calm, err := b.besideFlood()
			alone = append(alone, calm)
			return flooded, err
		},
		note: func() string { return "; without it " + millis.format(middle(alone)) },
	}
}

// opened is the part of an answer about a terminal that is used here.
type opened struct {
	PTY     string   `json:"pty_id"`
	Version uint64   `json:"version"`
	Screen  []string `json:"screen"`
	Wait    struct {
		Met bool `json:"met"`
	} `json:"wait"`
}

// use calls a terminal tool.
func (s *server) use(name string, arguments map[string]any) (opened, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return opened{}, err
	}
	c := tool("shoal_pty_"+name, string(text))
	result, err := s.call(c.method, c.params)
	if err != nil {
		return opened{}, err
	}
	return readOpened(result)
}

func readOpened(result json.RawMessage) (opened, error) {
	var answer struct {
		StructuredContent opened `json:"structuredContent"`
	}
	err := json.Unmarshal(result, &answer)
	return answer.StructuredContent, err
}

// pane runs this program in a terminal of the warm kernel.
func (b *bench) ptyPane(s *server, argument string) (p *pane, id string, err error) {
	p, err = b.inPane(argument, func(exe, socket string) error {
		o, err := s.use("open", map[string]any{"cmd": exe, "args": []string{argument}, "env": map[string]string{paneEnv: socket}})
		id = o.PTY
		return err
	})
	return p, id, err
}

// drawKernel is what a terminal of a kernel takes: seconds, and seconds of the
// kernel's processor time.
func (b *bench) drawKernel(o output) (took, worked float64, err error) {
	data, err := b.dataFile(o)
	if err != nil {
		return 0, 0, err
	}
	s, err := b.shoal()
	if err != nil {
		return 0, 0, err
	}
	kernel, err := kernelPID(b.warm)
	if err != nil {
		return 0, 0, err
	}
	p, id, err := b.ptyPane(s, data)
	if err != nil {
		return 0, 0, err
	}
	defer p.close()
	if took, worked, err = p.draw(kernel); err != nil {
		return 0, 0, err
	}
	_, err = s.use("close", map[string]any{"pty_id": id})
	return took, worked, err
}

// ptyKernel is a relay to a new kernel; stop ends both.
func (b *bench) ptyKernel() (s *server, kernel int, stop func() error, err error) {
	state, err := b.state("pty")
	if err != nil {
		return nil, 0, nil, err
	}
	if s, _, err = b.relay(state, "default"); err != nil {
		return nil, 0, nil, err
	}
	stop = func() error { s.close(); return b.stopKernel(state) }
	if _, err = s.call(onePlusOne.method, onePlusOne.params); err == nil {
		kernel, err = kernelPID(state)
	}
	if err != nil {
		stop()
	}
	return s, kernel, stop, err
}

// openMany opens terminals that show some lines and then repeat what is typed.
func (s *server) openMany(n, lines int) ([]opened, error) {
	script := fmt.Sprintf(`printf '\033[32m%%s\033[m some words of text and more of it %%s\n' $(seq %d); echo ready; exec cat`, 2*lines)
	if lines == 0 {
		script = "echo ready; exec cat"
	}
	all := make([]opened, n)
	for i := range all {
		var err error
		if all[i], err = s.use("open", map[string]any{"cmd": "sh", "args": []string{"-c", script}}); err != nil {
			return nil, err
		}
	}
	for i, o := range all {
		shown, err := s.use("read", map[string]any{"pty_id": o.PTY, "wait": map[string]any{"text": "ready", "timeout_ms": 60000}})
		if err != nil {
			return nil, err
		}
		if !shown.Wait.Met {
			return nil, fmt.Errorf("terminal %s is not ready: %.200q", o.PTY, shown.Screen)
		}
		all[i].Version = shown.Version
	}
	return all, nil
}

// keptTerminals is how much resident memory a kernel gains by n terminals that
// have shown lines.
func (b *bench) keptTerminals(n, lines int) (grown float64, err error) {
	s, kernel, stop, err := b.ptyKernel()
	if err != nil {
		return 0, err
	}
	defer func() {
		if bad := stop(); err == nil {
			err = bad
		}
	}()
	before, err := settled(kernel, settleSoon)
	if err != nil {
		return 0, err
	}
	if _, err := s.openMany(n, lines); err != nil {
		return 0, err
	}
	after, err := settled(kernel, settleSoon)
	return after - before, err
}

// manyEchoes types a character into each of many terminals and gives the time of
// the slowest answer with it, and of the slowest of as many `1 + 1`.
func (b *bench) manyEchoes() (echo, nothing float64, err error) {
	s, _, stop, err := b.ptyKernel()
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		if bad := stop(); err == nil {
			err = bad
		}
	}()
	all, err := s.openMany(manyScreens, 0)
	if err != nil {
		return 0, 0, err
	}
	keys, sums := make([]call, len(all)), make([]call, len(all))
	for i, o := range all {
		arguments, err := json.Marshal(map[string]any{
			"pty_id": o.PTY, "input": "x", "wait": map[string]any{"screen_changed_since": o.Version, "timeout_ms": 10000},
		})
		if err != nil {
			return 0, 0, err
		}
		keys[i], sums[i] = tool("shoal_pty_send", string(arguments)), onePlusOne
	}
	nothing, err = s.slowest(sums, func(json.RawMessage) error { return nil })
	if err != nil {
		return 0, 0, err
	}
	echo, err = s.slowest(keys, func(result json.RawMessage) error {
		shown, err := readOpened(result)
		if err == nil && !slices.Contains(shown.Screen, "x") {
			err = fmt.Errorf("no echo on %.200q", shown.Screen)
		}
		return err
	})
	return echo, nothing, err
}

// slowest makes calls, sixteen at a time, and gives the time of the slowest.
func (s *server) slowest(calls []call, check func(json.RawMessage) error) (worst float64, err error) {
	began := map[int]time.Time{}
	write := func() error {
		at := time.Now()
		id, err := s.write(calls[0].method, calls[0].params)
		began[id], calls = at, calls[1:]
		return err
	}
	for n := len(calls); n > 0; n-- {
		for len(calls) > 0 && len(began) < inFlight {
			if err := write(); err != nil {
				return 0, err
			}
		}
		a, err := s.read()
		if err == nil {
			worst = max(worst, time.Since(began[*a.ID]).Seconds())
			delete(began, *a.ID)
			err = check(a.Result)
		}
		if err != nil {
			return 0, err
		}
	}
	return worst, nil
}

// besideFlood makes calls in one session while a terminal of another floods, and
// before.
func (b *bench) besideFlood() (flooded, calm float64, err error) {
	if _, err := b.shoal(); err != nil {
		return 0, 0, err
	}
	noisy, _, err := b.relay(b.warm, "noisy")
	if err != nil {
		return 0, 0, err
	}
	defer noisy.close()
	other, _, err := b.relay(b.warm, "other")
	if err != nil {
		return 0, 0, err
	}
	defer other.close()
	if calm, err = other.paced(); err != nil {
		return 0, 0, err
	}
	flood, err := noisy.use("open", map[string]any{"cmd": "yes"})
	if err != nil {
		return 0, 0, err
	}
	if _, err := noisy.use("read", map[string]any{"pty_id": flood.PTY, "wait": map[string]any{"text": "y\ny", "timeout_ms": 10000}}); err != nil {
		return 0, 0, err
	}
	if flooded, err = other.paced(); err != nil {
		return 0, 0, err
	}
	_, err = noisy.use("close", map[string]any{"pty_id": flood.PTY})
	return flooded, calm, err
}

// paced makes calls as an agent does, not a loop, and gives the 95th percentile
// of their times.
func (s *server) paced() (float64, error) {
	var all []float64
	for range floodCalls {
		took, err := s.timed(onePlusOne)
		if err != nil {
			return 0, err
		}
		all = append(all, took.Seconds())
		time.Sleep(settlePause / 5)
	}
	return most95(all), nil
}

// most95 is the 95th percentile.
func most95(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)*95/100]
}

// readTerminal is how much processor time a read of a screen that has changed
// costs a kernel, with its answer, beyond a call that does nothing. The program
// repeats what it reads, a screen at a time.
func (b *bench) readTerminal() (float64, error) {
	s, err := b.shoal()
	if err != nil {
		return 0, err
	}
	kernel, err := kernelPID(b.warm)
	if err != nil {
		return 0, err
	}
	worked := func(c call) (float64, error) {
		before, err := workedBy(kernel)
		if err != nil {
			return 0, err
		}
		if _, err := s.call(c.method, c.params); err != nil {
			return 0, err
		}
		after, err := workedBy(kernel)
		return after - before, err
	}
	const cols, rows = 200, 50
	o, err := s.use("open", map[string]any{"cmd": "sh", "args": []string{"-c", "stty raw -echo; echo ready; exec cat"}, "cols": cols, "rows": rows})
	if err != nil {
		return 0, err
	}
	if _, err := s.use("read", map[string]any{"pty_id": o.PTY, "wait": map[string]any{"text": "ready", "timeout_ms": 10000}}); err != nil {
		return 0, err
	}
	words := strings.Repeat("some words and more ", cols*rows/20)[:cols*rows-8]
	var read, nothing []float64
	for i := range reads {
		page := fmt.Sprintf("\x1b[H\x1b[J%s%04d", words, i)
		_, err := s.use("send", map[string]any{"pty_id": o.PTY, "input": map[string]string{"bytes": base64.StdEncoding.EncodeToString([]byte(page))},
			"wait": map[string]any{"text": fmt.Sprintf("%04d", i), "timeout_ms": 10000}})
		if err != nil {
			return 0, err
		}
		c, of := noOp, &nothing
		if i%2 == 0 {
			c, of = tool("shoal_pty_read", `{"pty_id":"`+o.PTY+`"}`), &read
		}
		n, err := worked(c)
		if err != nil {
			return 0, err
		}
		*of = append(*of, n)
	}
	_, err = s.use("close", map[string]any{"pty_id": o.PTY})
	return middle(read) - middle(nothing), err
}

// wakeUp is how long after a byte was written the answer of the read that waits
// for it is here.
func (b *bench) wakeUp() (float64, error) {
	s, err := b.shoal()
	if err != nil {
		return 0, err
	}
	p, id, err := b.ptyPane(s, wakeCall)
	if err != nil {
		return 0, err
	}
	defer p.close()
	var all []float64
	for i := range wakes {
		word := fmt.Sprintf("wake-%d;", i)
		c := tool("shoal_pty_read", fmt.Sprintf(`{"pty_id":%q,"wait":{"text":%q,"timeout_ms":10000}}`, id, word))
		if _, err := s.write(c.method, c.params); err != nil {
			return 0, err
		}
		// A call behind it is answered first: the read waits by now.
		if _, err := s.call(noOp.method, noOp.params); err != nil {
			return 0, err
		}
		written, err := p.wake(word)
		if err != nil {
			return 0, err
		}
		a, err := s.read()
		took := time.Since(written).Seconds()
		if err != nil {
			return 0, err
		}
		if shown, err := readOpened(a.Result); err != nil || !shown.Wait.Met {
			return 0, fmt.Errorf("the wait for %s did not end: %v %.300s", word, err, a.Result)
		}
		all = append(all, took)
	}
	_, err = s.use("close", map[string]any{"pty_id": id})
	return most95(all), err
}
