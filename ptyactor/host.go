package ptyactor

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
	"shoal.dev/shoal/ptyactor/recording"
	"shoal.dev/shoal/ptyactor/screen"
)

const (
	// readSize is one read of a terminal; feedSize is how much of it is drawn
	// while a reader may have to wait.
	readSize = 32 << 10
	feedSize = 4 << 10
	// exitDrain is how long output is awaited after the child has been reaped,
	// not counting the time that drawing it takes; exitDrainMax is how much of
	// it is taken, well over what a terminal buffers.
	exitDrain    = 250 * time.Millisecond
	exitDrainMax = 1 << 20
	// publishEvery is the least time between two notices of change.
	publishEvery = 50 * time.Millisecond
	// readersMax bounds the connections whose last read is remembered.
	readersMax = 1024
)

// Host is one terminal: device, child, screen, and who waits for what. It lives
// until Close, whatever happens to the actor that speaks for it.
type Host struct {
	id        messages.PTYID
	session   messages.SessionName
	principal messages.Principal
	cmd       string
	args      []string
	dev       *device
	writer    *writer
	publish   func(payload json.RawMessage)
	log       *slog.Logger
	record    *recorder // nil: nothing is recorded
	hide      func() func([]byte)

	pumped chan struct{} // output has ended
	reaped chan struct{} // and so has the child, with everything told
	closed chan struct{}
	once   sync.Once

	mu        sync.Mutex
	screen    screen.Screen
	faults    int
	outAt     time.Time // of the last output
	changedAt time.Time // of the last visible change that somebody looked at
	version   uint64
	frame     *screen.Frame // shown while the program draws the next, until frameEnd
	frameEnd  time.Time
	frameOver *time.Timer
	waits     map[*waiter]struct{}
	readers   map[string]uint64
	openLine  int // bytes of the line being typed
	exit      *messages.PTYExit
	gone      bool // Close has begun
	held      lease
	sends     map[string]*sends
	recording *messages.PTYRecording // what was recorded, once the child has ended

	notice    *time.Timer
	noticed   uint64
	noticedAt time.Time
}

// open starts a terminal; its request is complete.
func open(cfg Config, id messages.PTYID, req messages.OpenPTY, publish func(json.RawMessage)) (*Host, error) {
	var record *recorder
	if req.Record || req.RecordInput {
		var err error
		if record, err = startRecorder(cfg.Keep, req, termOf(req.Set)); err != nil {
			return nil, err
		}
	}
	dev, err := startDevice(cfg.Runner, id, req)
	if err != nil {
		record.close()
		return nil, err
	}
	now := time.Now()
	h := &Host{
		id: id, session: req.Session, principal: req.Principal, cmd: req.Cmd, args: req.Args, dev: dev,
		record: record, publish: publish, log: cfg.Log, hide: cfg.Hide,
		pumped: make(chan struct{}), reaped: make(chan struct{}), closed: make(chan struct{}),
		screen: cfg.Engine.New(req.Cols, req.Rows, req.Scrollback),
		outAt:  now, changedAt: now, waits: map[*waiter]struct{}{}, readers: map[string]uint64{}, sends: map[string]*sends{},
	}
	h.writer = startWriter(dev.master, inputTimeout, h.typed)
	go h.pump()
	go h.reap()
	return h, nil
}

// pump draws output until its end.
func (h *Host) pump() {
	defer close(h.pumped)
	buf := make([]byte, readSize)
	for {
		n, err := h.dev.master.Read(buf)
		h.feedAll(buf[:n])
		if err != nil {
			// EIO is the end of a terminal's output. A deadline says that the
			// child has gone and somebody else may hold the terminal.
			if errors.Is(err, os.ErrDeadlineExceeded) {
				h.drain(buf)
			}
			return
		}
	}
}

// drain reads what is left after the child's end.
func (h *Host) drain(buf []byte) {
	budget, taken := exitDrain, 0
	for budget > 0 && taken < exitDrainMax {
		began := time.Now()
		h.dev.master.SetReadDeadline(began.Add(budget))
		n, err := h.dev.master.Read(buf)
		budget -= time.Since(began)
		taken += n
		h.feedAll(buf[:n])
		if err != nil {
			return
		}
	}
}

// feedAll draws in small parts, so that readers get their turn.
func (h *Host) feedAll(b []byte) {
	for len(b) > 0 {
		part := b[:min(len(b), feedSize)]
		b = b[len(part):]
		h.feed(part)
	}
}

func (h *Host) feed(b []byte) {
	h.mu.Lock()
	h.record.event(recording.Output, b)
	h.screen.Write(b)
	replies := h.screen.Replies()
	h.outAt = time.Now()
	h.holdLocked()
	for w := range h.waits {
		w.output(h.outAt)
	}
	searches := h.checkLocked()
	broke := h.screen.Faults() > h.faults
	h.faults = h.screen.Faults()
	h.noticeLocked()
	h.mu.Unlock()
	if len(replies) > 0 {
		h.writer.reply(replies)
	}
	h.run(searches)
	if broke {
		h.repaint()
	}
}

// repaint asks the program to draw itself anew after the engine lost its state.
func (h *Host) repaint() {
	h.log.Warn("terminal engine rebuilt", "pty", string(h.id))
	shot := h.Snapshot()
	h.dev.setSize(shot.Cols, max(shot.Rows-1, 1))
	h.dev.setSize(shot.Cols, shot.Rows)
}

// reap waits for the child, then for the output it left, and tells.
func (h *Host) reap() {
	state, err := h.dev.child.Wait()
	h.dev.tree.Exited()
	exit := &messages.PTYExit{}
	if err == nil {
		exit = exitOf(state)
	}
	h.dev.master.SetReadDeadline(time.Now())
	<-h.pumped
	h.writer.stop()
	h.dev.master.Close()
	h.record.end(exit)
	h.mu.Lock()
	h.exit = exit
	h.frame = nil // what it left undone is its last picture
	searches := h.checkLocked()
	if h.notice != nil {
		h.notice.Stop()
	}
	h.mu.Unlock()
	h.run(searches)
	h.tell()
	h.publish(messages.JSON(struct {
		Exit *messages.PTYExit `json:"exit"`
	}{exit}))
	h.keepRecording()
	close(h.reaped)
}

// keepRecording puts a finished recording into the content store and tells its
// refs.
func (h *Host) keepRecording() {
	if h.record == nil {
		return
	}
	kept, err := h.record.store()
	if err != nil {
		h.log.Error("keep recording", "pty", string(h.id), "err", err)
		return
	}
	h.mu.Lock()
	h.recording = &kept
	h.mu.Unlock()
	h.publish(messages.JSON(struct {
		Recording messages.PTYRecording `json:"recording"`
	}{kept}))
}

// Recorded puts what has been recorded so far into the content store.
func (h *Host) Recorded() (messages.PTYRecording, *messages.Error) {
	h.mu.Lock()
	kept, gone := h.recording, h.gone
	h.mu.Unlock()
	switch {
	case gone:
		return messages.PTYRecording{}, unknown(h.id)
	case h.record == nil:
		return messages.PTYRecording{}, messages.Errorf(messages.CodeInvalidParams, "terminal %s is not recorded; open it with record", h.id)
	case kept != nil:
		return *kept, nil
	}
	now, err := h.record.store()
	if err != nil {
		return messages.PTYRecording{}, messages.Errorf(messages.CodeInternal, "keep the recording of %s: %v", h.id, err)
	}
	return now, nil
}

// syncMax is how long a program may hold its output together.
const syncMax = 150 * time.Millisecond

// holdLocked notes the picture that is shown while output is held together, and
// when that ends at the latest.
func (h *Host) holdLocked() {
	f := h.screen.Frame()
	if f == h.frame {
		return
	}
	h.frame = f
	if h.frameOver != nil {
		h.frameOver.Stop()
	}
	if f != nil {
		h.frameEnd = h.outAt.Add(syncMax)
		h.frameOver = time.AfterFunc(syncMax, h.frameIsOver)
	}
}

// frameIsOver shows what there is of a picture whose end does not come.
func (h *Host) frameIsOver() {
	h.mu.Lock()
	searches := h.checkLocked()
	h.noticeLocked()
	h.mu.Unlock()
	h.run(searches)
}

// heldLocked is for how long yet a whole picture stands for the one that is being
// drawn.
func (h *Host) heldLocked(now time.Time) time.Duration {
	if h.frame == nil {
		return 0
	}
	return h.frameEnd.Sub(now)
}

// pictureLocked is what is shown: the screen, or the last whole picture of it.
func (h *Host) pictureLocked(withRuns bool) (shot *screen.Snapshot, runs []screen.Run) {
	if h.heldLocked(time.Now()) > 0 {
		return h.frame.Snapshot, h.frame.Runs
	}
	if withRuns {
		runs = h.screen.Runs()
	}
	return h.screen.Snapshot(), runs
}

// Snapshot is what the terminal shows.
func (h *Host) Snapshot() *screen.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.snapshotLocked()
}

// snapshotLocked is what is shown; it notes when that last changed.
func (h *Host) snapshotLocked() *screen.Snapshot {
	shot, _ := h.pictureLocked(false)
	h.lookedLocked(shot)
	return shot
}

func (h *Host) lookedLocked(shot *screen.Snapshot) {
	if shot.Version != h.version {
		h.version = shot.Version
		h.changedAt = h.outAt
	}
}

// noticeLocked arms the notice of change: at most one in publishEvery, and
// never without a last one.
func (h *Host) noticeLocked() {
	if h.notice != nil || h.gone {
		return
	}
	wait := max(0, publishEvery-time.Since(h.noticedAt))
	h.notice = time.AfterFunc(wait, h.tell)
}

// tell publishes the version if it is new.
func (h *Host) tell() {
	h.mu.Lock()
	h.notice = nil
	h.noticedAt = time.Now()
	version := h.snapshotLocked().Version
	fresh := version != h.noticed && !h.gone
	h.noticed = version
	h.mu.Unlock()
	if fresh {
		h.publish(messages.JSON(struct {
			Version uint64 `json:"version"`
		}{version}))
	}
}

// Resize gives the terminal another size: device first, then screen, so that
// the program's repaint meets the new grid. Charge is asked for the cells that it
// gains, or told of those that it loses, with a minus; it must not call the host.
func (h *Host) Resize(cols, rows int, charge func(cells int) *messages.Error) (messages.PTYResized, *messages.Error) {
	for name, n := range map[string]int{"cols": cols, "rows": rows} {
		if n < 1 || n > messages.PTYSideMax {
			return messages.PTYResized{}, messages.Errorf(messages.CodeInvalidParams, "%s: want 1 to %d, got %d", name, messages.PTYSideMax, n)
		}
	}
	h.mu.Lock()
	searches, bad := h.resizeLocked(cols, rows, charge)
	h.mu.Unlock()
	h.run(searches)
	if bad != nil {
		return messages.PTYResized{}, bad
	}
	return messages.PTYResized{PTY: h.id, Cols: cols, Rows: rows}, nil
}

func (h *Host) resizeLocked(cols, rows int, charge func(cells int) *messages.Error) ([]search, *messages.Error) {
	if h.gone {
		return nil, unknown(h.id)
	}
	before := h.snapshotLocked()
	if bad := charge(cols*rows - before.Cols*before.Rows); bad != nil {
		return nil, bad
	}
	h.dev.setSize(cols, rows) // fails only when the child is gone
	h.screen.Resize(cols, rows)
	h.holdLocked()
	h.record.size(cols, rows)
	h.outAt = time.Now()
	searches := h.checkLocked()
	h.noticeLocked()
	return searches, nil
}

// Send types. It returns when the input is written or given up, and with a wait
// when that has ended.
func (h *Host) Send(ctx context.Context, req messages.SendPTY) (messages.PTYSent, *messages.Error) {
	start, err := h.queue(req)
	if err != nil {
		return messages.PTYSent{}, err
	}
	return start(ctx)
}

// finishSend waits for the rest of a send.
type finishSend func(context.Context) (messages.PTYSent, *messages.Error)

// queue puts the input into the writer's queue before it returns, which keeps
// the order of sends; the function it returns waits for the rest. A send that
// comes again is the same send.
func (h *Host) queue(req messages.SendPTY) (finishSend, *messages.Error) {
	items, bad := parseInput(req.Input)
	if bad != nil {
		return nil, bad
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return nil, unknown(h.id)
	}
	if again, err := h.againLocked(req); again != nil || err != nil {
		return again, err
	}
	if refused := h.mayTypeLocked(req.Reader); refused != nil {
		return nil, refused
	}
	pieces, bad := h.encodeLocked(items)
	if bad != nil {
		return nil, bad
	}
	var wait *waiter
	if req.Wait != nil {
		var err *messages.Error
		if wait, err = h.newWaiterLocked(*req.Wait, &sentInput{shot: h.snapshotLocked(), echo: printable(items)}); err != nil {
			return nil, err
		}
	}
	sent := messages.PTYSent{PTY: h.id, Warnings: h.warnLocked(pieces)}
	j := h.writer.send(pieces)
	if wait != nil {
		h.addLocked(wait)
	}
	return h.rememberLocked(req, func(ctx context.Context) (messages.PTYSent, *messages.Error) {
		if j == nil {
			sent.Blocked = true
		} else {
			<-j.ended
			sent.BytesSent, sent.Blocked = j.sent, j.stuck
		}
		if wait != nil {
			shown := h.screenAfter(ctx, wait, messages.ReadPTY{Reader: req.Reader})
			sent.Screen = &shown
		}
		return sent, nil
	}), nil
}

// encodeLocked is the items as the program wants them now.
func (h *Host) encodeLocked(items []item) ([]piece, *messages.Error) {
	size := h.snapshotLocked()
	return encode(items, h.screen.Modes(), size.Cols, size.Rows)
}

// warnLocked finds lines that a canonical terminal will cut.
func (h *Host) warnLocked(pieces []piece) []string {
	warnings := []string{}
	if h.exit != nil {
		return append(warnings, "the program has exited; nothing was sent")
	}
	if !h.dev.canonical() {
		h.openLine = 0
		return warnings
	}
	total := 0
	for _, p := range pieces {
		var n int
		n, h.openLine = lost(p.data, h.openLine)
		total += n
	}
	if over := h.openLine - (lineMax - 1); over > 0 {
		total += over
		h.openLine = lineMax - 1
	}
	if total > 0 {
		warnings = append(warnings, lostWarning(total))
	}
	return warnings
}

// Read is what the terminal shows, after the wait if there is one.
func (h *Host) Read(ctx context.Context, req messages.ReadPTY) (messages.Screen, *messages.Error) {
	finish, err := h.look(req)
	if err != nil {
		return messages.Screen{}, err
	}
	return finish(ctx), nil
}

// look begins a read: what is asked after it has returned, such as a close, meets
// its wait. The function it returns waits and reads; without a wait that has been
// done, in one turn, as others may draw between two.
func (h *Host) look(req messages.ReadPTY) (finish func(context.Context) messages.Screen, bad *messages.Error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return nil, unknown(h.id)
	}
	if req.Wait == nil {
		shown := h.shownLocked(nil, nil, req)
		return func(context.Context) messages.Screen { return shown }, nil
	}
	wait, bad := h.newWaiterLocked(*req.Wait, nil)
	if bad != nil {
		return nil, bad
	}
	h.addLocked(wait)
	return func(ctx context.Context) messages.Screen { return h.screenAfter(ctx, wait, req) }, nil
}

// screenAfter waits and reads the screen.
func (h *Host) screenAfter(ctx context.Context, w *waiter, req messages.ReadPTY) messages.Screen {
	waited := h.await(ctx, w)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shownLocked(w, waited, req)
}

// shownLocked is what a read gives after its wait, if it had one.
func (h *Host) shownLocked(w *waiter, waited *messages.PTYWaited, req messages.ReadPTY) messages.Screen {
	s, pictured := h.pictureLocked(req.Attrs)
	h.lookedLocked(s)
	if w != nil && w.shot != nil && !req.Attrs {
		// What met the conditions, not what came a moment later.
		s = w.shot
	}
	out := messages.Screen{
		PTY: h.id, Lines: h.hidden(s.Lines), Cursor: messages.PTYCursor{Row: s.Row, Col: s.Col, Hidden: s.Hidden},
		Alive: h.exit == nil, Exit: h.exit, PID: h.dev.child.Pid, Cmd: h.cmd, Cols: s.Cols, Rows: s.Rows,
		Version: s.Version, Title: h.hidden([]string{s.Title})[0], AltScreen: s.AltScreen, Mouse: s.Mouse, Paste: s.Paste,
		ScrollbackLen: s.Scrollback, Wait: waited, Changed: true, Keyboard: h.holderLocked(req.Reader), Recording: h.recording,
	}
	if req.Attrs {
		runs := make([]messages.PTYRun, 0)
		for _, r := range pictured {
			runs = append(runs, messages.PTYRun(r))
		}
		out.PTYAttrs = &messages.PTYAttrs{Runs: runs}
	}
	if r := req.Scrollback; r != nil {
		lines, first, next := h.screen.Scrollback(r.From, r.To)
		out.PTYLines = &messages.PTYLines{Text: h.hidden(lines), FirstLine: first, NextLine: next}
	}
	if req.Reader != "" {
		last, seen := h.readers[req.Reader]
		out.Changed = !seen || last != s.Version
		if !seen && len(h.readers) >= readersMax {
			clear(h.readers)
		}
		h.readers[req.Reader] = s.Version
	}
	return out
}

// row is the terminal in a list.
func (h *Host) row() messages.PTYRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.snapshotLocked()
	return messages.PTYRow{PTY: h.id, Cmd: h.cmd, PID: h.dev.child.Pid, Cols: s.Cols, Rows: s.Rows, Alive: h.exit == nil}
}

// Close ends every process of the terminal and frees it. It returns how the
// program ended. Calling it again waits for the first call.
func (h *Host) Close(ctx context.Context) *messages.PTYExit {
	h.once.Do(func() {
		h.mu.Lock()
		h.gone = true
		for w := range h.waits {
			h.endLocked(w, false, "closed")
		}
		h.mu.Unlock()
		if left := h.dev.tree.End(ctx, proc.TerminalLadder()); len(left) > 0 {
			h.log.Warn("terminal left processes", "pty", string(h.id), "processes", len(left))
		}
		h.dev.master.Close()
		h.writer.stop()
		<-h.writer.done
		<-h.reaped
		h.dev.tree.Drop()
		h.record.close()
		h.mu.Lock()
		for _, timer := range []*time.Timer{h.notice, h.frameOver} {
			if timer != nil {
				timer.Stop()
			}
		}
		h.mu.Unlock()
		close(h.closed)
	})
	<-h.closed
	return h.exit
}

func unknown(id messages.PTYID) *messages.Error {
	return messages.Errorf(messages.CodeUnknownPTY, "no terminal %s in this session", id)
}
