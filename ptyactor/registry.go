package ptyactor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
	"shoal.dev/shoal/ptyactor/screen"
)

// cellsMax bounds the cells of all terminals together. Our engine takes 12 bytes
// for each on each of two screens, the second engine about 200.
const cellsMax = 8 << 20

// Config is what terminals need from the kernel.
type Config struct {
	Runner *proc.Runner
	// Next gives the next terminal's number, never one twice.
	Next func() (uint64, error)
	// Publish puts a payload on a channel; it must not block.
	Publish func(messages.ChannelKey, json.RawMessage)
	// Changed hears of a session that has got or lost a terminal; it must not
	// block.
	Changed func(messages.SessionName)
	Log     *slog.Logger
	// Max is how many terminals there may be; 0: messages.PTYTotalMax.
	Max int
	// Engine draws the screens.
	Engine screen.Engine
	// Keep stores recordings; nil: none can be made.
	Keep *Keeper
	// Hide gives what hides secrets in place, nil while there are none; it may be
	// nil itself.
	Hide func() func([]byte)
}

// Registry holds the terminals of a kernel, outside any actor. The kernel makes
// it, and ends it with CloseAll.
type Registry struct {
	cfg Config

	mu     sync.Mutex
	hosts  map[messages.PTYID]*Host
	coming int // being opened
	cells  int
	perWho map[messages.Principal]int
	ended  bool
	// calls are the newest that opened or closed a terminal, by their keys.
	calls map[string]*call
	keys  []string // oldest first
}

// NewRegistry returns an empty registry.
func NewRegistry(cfg Config) *Registry {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Publish == nil {
		cfg.Publish = func(messages.ChannelKey, json.RawMessage) {}
	}
	if cfg.Changed == nil {
		cfg.Changed = func(messages.SessionName) {}
	}
	if cfg.Max <= 0 {
		cfg.Max = messages.PTYTotalMax
	}
	return &Registry{cfg: cfg, hosts: map[messages.PTYID]*Host{}, perWho: map[messages.Principal]int{}, calls: map[string]*call{}}
}

// Open starts a terminal. It blocks for as long as starting a process takes.
func (r *Registry) Open(req messages.OpenPTY) (messages.PTYOpened, *messages.Error) {
	if bad := complete(&req); bad != nil {
		return messages.PTYOpened{}, bad
	}
	if bad := r.reserve(req); bad != nil {
		return messages.PTYOpened{}, bad
	}
	num, err := r.cfg.Next()
	if err != nil {
		r.giveUp(req)
		return messages.PTYOpened{}, messages.Errorf(messages.CodeInternal, "number a terminal: %v", err)
	}
	id := messages.NewPTYID(num)
	key := messages.ChannelKey{Session: req.Session, Name: id.Channel()}
	h, err := open(r.cfg, id, req, func(p json.RawMessage) { r.cfg.Publish(key, p) })
	if err != nil {
		r.giveUp(req)
		return messages.PTYOpened{}, messages.Errorf(messages.CodePTYSpawn, "%v", err).With(map[string]string{"reason": reason(err)})
	}
	r.mu.Lock()
	r.coming--
	r.hosts[id] = h
	ended := r.ended
	r.mu.Unlock()
	if ended {
		r.Close(context.Background(), id)
		return messages.PTYOpened{}, messages.Errorf(messages.CodeInterrupted, "the kernel is stopping")
	}
	r.cfg.Changed(req.Session)
	args := req.Args
	if args == nil {
		args = []string{}
	}
	return messages.PTYOpened{PTY: id, URI: id.URI(), PID: h.dev.child.Pid, Cmd: req.Cmd, Args: args,
		Cols: req.Cols, Rows: req.Rows, Alive: true}, nil
}

// complete fills in defaults and checks the arguments.
func complete(req *messages.OpenPTY) *messages.Error {
	if req.Cmd == "" {
		return messages.Errorf(messages.CodeInvalidParams, "cmd: is missing")
	}
	if req.Path == "" {
		req.Path = req.Cmd
	}
	req.Cols = cmp.Or(req.Cols, messages.PTYCols)
	req.Rows = cmp.Or(req.Rows, messages.PTYRows)
	req.Scrollback = max(0, cmp.Or(req.Scrollback, messages.PTYScrollback))
	for name, n := range map[string]int{"cols": req.Cols, "rows": req.Rows} {
		if n < 1 || n > messages.PTYSideMax {
			return messages.Errorf(messages.CodeInvalidParams, "%s: want 1 to %d, got %d", name, messages.PTYSideMax, n)
		}
	}
	return nil
}

func reason(err error) string {
	var spawn *proc.SpawnError
	if errors.As(err, &spawn) {
		return string(spawn.Kind)
	}
	return "no_terminal"
}

// reserve takes a place under the limits.
func (r *Registry) reserve(req messages.OpenPTY) *messages.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := len(r.hosts) + r.coming
	switch mine := r.perWho[req.Principal]; {
	case r.ended:
		return messages.Errorf(messages.CodeInterrupted, "the kernel is stopping")
	case used >= r.cfg.Max:
		return quota("terminals", r.cfg.Max, used)
	case req.Limit > 0 && mine >= req.Limit:
		return quota("terminals of "+string(req.Principal), req.Limit, mine)
	case r.cells+req.Cols*req.Rows > cellsMax:
		return quota("terminal cells", cellsMax, r.cells)
	}
	r.coming++
	r.cells += req.Cols * req.Rows
	r.perWho[req.Principal]++
	return nil
}

func (r *Registry) giveUp(req messages.OpenPTY) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coming--
	r.freeLocked(req.Principal, req.Cols*req.Rows)
}

func (r *Registry) freeLocked(who messages.Principal, cells int) {
	r.cells -= cells
	if r.perWho[who]--; r.perWho[who] <= 0 {
		delete(r.perWho, who)
	}
}

func quota(what string, limit, used int) *messages.Error {
	return messages.Errorf(messages.CodeQuota, "too many %s", what).With(map[string]any{"limit": limit, "used": used, "what": what})
}

// Adopt is the host of a terminal, for whoever speaks for it.
func (r *Registry) Adopt(id messages.PTYID) (*Host, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.hosts[id]
	return h, ok
}

// visible is the host of a terminal if it belongs to the session.
func (r *Registry) visible(id messages.PTYID, session messages.SessionName) (*Host, *messages.Error) {
	h, ok := r.Adopt(id)
	if !ok || h.session != session {
		return nil, unknown(id)
	}
	return h, nil
}

// Resize changes a terminal's size within the limit of cells.
func (r *Registry) Resize(h *Host, cols, rows int) (messages.PTYResized, *messages.Error) {
	return h.Resize(cols, rows, r.charge)
}

// charge takes cells for a terminal that grows, if there are any, or gives them
// back.
func (r *Registry) charge(cells int) *messages.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cells > 0 && r.cells+cells > cellsMax {
		return quota("terminal cells", cellsMax, r.cells)
	}
	r.cells += cells
	return nil
}

// List is the terminals of a session, ascending.
func (r *Registry) List(session messages.SessionName) messages.PTYList {
	list := messages.PTYList{PTYs: []messages.PTYRow{}}
	for _, h := range r.all() {
		if h.session == session {
			list.PTYs = append(list.PTYs, h.row())
		}
	}
	return list
}

// all is every host, ascending by number.
func (r *Registry) all() []*Host {
	r.mu.Lock()
	defer r.mu.Unlock()
	hosts := make([]*Host, 0, len(r.hosts))
	for _, h := range r.hosts {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b *Host) int {
		x, _ := a.id.Num()
		y, _ := b.id.Num()
		return cmp.Compare(x, y)
	})
	return hosts
}

// Close ends a terminal. From then on it is unknown.
func (r *Registry) Close(ctx context.Context, id messages.PTYID) (messages.PTYClosed, *messages.Error) {
	r.mu.Lock()
	h, ok := r.hosts[id]
	delete(r.hosts, id)
	r.mu.Unlock()
	if !ok {
		return messages.PTYClosed{}, unknown(id)
	}
	r.cfg.Changed(h.session)
	exit := h.Close(ctx)
	size := h.Snapshot()
	r.mu.Lock()
	r.freeLocked(h.principal, size.Cols*size.Rows)
	r.mu.Unlock()
	return messages.PTYClosed{PTY: id, Closed: true, Exit: exit, Recording: h.recording}, nil
}

// CloseSession ends the terminals of a session, all at once, and names them.
func (r *Registry) CloseSession(ctx context.Context, session messages.SessionName) []messages.PTYID {
	return r.closeWhere(ctx, func(h *Host) bool { return h.session == session })
}

// CloseAll ends every terminal and refuses new ones.
func (r *Registry) CloseAll(ctx context.Context) []messages.PTYID {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	return r.closeWhere(ctx, func(*Host) bool { return true })
}

func (r *Registry) closeWhere(ctx context.Context, pick func(*Host) bool) []messages.PTYID {
	var wg sync.WaitGroup
	var gone []messages.PTYID
	for _, h := range r.all() {
		if pick(h) {
			gone = append(gone, h.id)
			wg.Go(func() { r.Close(ctx, h.id) })
		}
	}
	wg.Wait()
	return gone
}
