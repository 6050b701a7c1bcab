package kernel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"shoal.dev/shoal/actors"
	"shoal.dev/shoal/bus"
	"shoal.dev/shoal/gateway"
	"shoal.dev/shoal/host"
	"shoal.dev/shoal/journal"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/link"
	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/mcphttp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
	"shoal.dev/shoal/ptyactor"
	"shoal.dev/shoal/supervisor"
)

// Kernel is a running daemon.
type Kernel struct {
	o       Options
	log     *slog.Logger
	id      string
	started time.Time
	policy  *policyHolder
	secrets *host.Secrets

	lock     *os.File
	logFile  io.Closer
	runner   *proc.Runner
	store    *journal.Store
	bus      *bus.Bus
	sys      *supervisor.System
	tasks    *actors.TaskStore
	sessions *actors.SessionStore
	ptys     *ptyactor.Registry
	gate     *gateway.Gateway
	mcp      *mcp.Server
	http     *mcphttp.Server // nil: none
	socket   *socket
	deps     *actors.Deps
	memory   *interp.Memory // of all programs
	turns    *interp.Turns  // of all programs

	serving  sync.WaitGroup // the listeners' loops
	keeping  sync.WaitGroup // keepSocket, which owns socket while it runs, and keepMemory
	stopping chan struct{}  // closed when a stop was asked for
	stopOnce sync.Once
	quit     chan struct{} // closed when the parts are being taken down
	quitOnce sync.Once
	stopErr  error
}

// Start brings a kernel up; it serves when Start returns. On error nothing is
// left behind.
func Start(o Options) (k *Kernel, err error) {
	o.normalize()
	k = &Kernel{o: o, started: time.Now(), stopping: make(chan struct{}), quit: make(chan struct{})}
	k.memory, k.turns = interp.NewMemory(programMemory()), interp.NewTurns(runtime.GOMAXPROCS(0))
	defer func() {
		if err != nil {
			k.abort(err)
			k = nil
		}
	}()
	if err := o.Paths.MakeStateDir(); err != nil {
		return k, err
	}
	if err := makeDirs(o.Paths.StateDir); err != nil {
		return k, err
	}
	if k.lock, err = lockFile(o.Paths.Lock(), o.LockWait); err != nil {
		return k, err
	}
	if err := k.openLog(); err != nil {
		return k, err
	}
	unknown, err := k.o.applyConfig()
	if err != nil {
		return k, err
	}
	k.o.fillLimits()
	for _, key := range unknown {
		k.log.Warn("configuration has an unknown key", "key", key)
	}
	if k.policy, err = newPolicy(k.o); err != nil {
		return k, err
	}
	if k.id, err = kernelID(o.Paths.StateDir); err != nil {
		return k, err
	}
	k.secrets = &host.Secrets{Dir: filepath.Join(o.Paths.StateDir, "secrets")}
	return k, k.open()
}

func (k *Kernel) openLog() error {
	k.log = k.o.Log
	if k.log == nil {
		f, err := openLog(k.o.Paths.Log())
		if err != nil {
			return err
		}
		k.logFile = f
		k.log = slog.New(slog.NewJSONHandler(f, nil))
	}
	return nil
}

// open opens the stores, closes the books of an earlier kernel, and serves.
func (k *Kernel) open() error {
	left, err := k.openProcesses()
	if err != nil {
		return err
	}
	if err := k.openStores(); err != nil {
		return err
	}
	if err := k.buildTree(left); err != nil {
		return err
	}
	if k.socket, err = listen(k.o.Paths, k.o.SocketGroup); err != nil {
		return err
	}
	if err := k.openHTTP(); err != nil {
		return err
	}
	err = k.o.Paths.WriteEndpoint(link.Endpoint{
		Socket: k.o.Paths.Socket, KernelID: k.id, Version: link.Version(),
		Protocol: messages.ProtocolVersion, PID: os.Getpid(), Args: k.o.Args,
	})
	if err != nil {
		return err
	}
	k.serving.Go(func() { k.serve(k.socket) })
	if k.http != nil {
		k.serving.Go(k.serveHTTP)
	}
	k.keeping.Go(k.keepSocket)
	k.keeping.Go(k.keepMemory)
	k.event("start", "", "")
	k.log.Info("kernel ready", "socket", k.o.Paths.Socket, "state", k.o.Paths.StateDir, "version", link.Version())
	return nil
}

// openProcesses ends what an earlier kernel left running and saves the newest
// output of its tasks.
func (k *Kernel) openProcesses() (actors.Interrupted, error) {
	run := filepath.Join(k.o.Paths.StateDir, "run")
	tails, err := proc.RecoverTails(run)
	if err != nil {
		k.log.Warn("recover output of interrupted tasks", "err", err)
	}
	k.runner, err = proc.New(proc.Options{
		KernelID: k.id, RunDir: run, SpillDir: run, Log: k.log, Mask: k.secrets.Masked, Margin: k.secrets.Margin,
		Spill: func(r io.Reader) (string, int64, error) {
			b, err := k.store.PutBlob(k.secrets.MaskReader(r))
			return b.Hash, b.Len, err
		},
	})
	if err != nil {
		return actors.Interrupted{}, err
	}
	killed := k.runner.Sweep()
	if len(killed) > 0 {
		k.log.Warn("processes of an earlier kernel were ended", "count", len(killed))
	}
	return actors.Interrupted{Killed: killed, Tails: tails}, nil
}

func (k *Kernel) openStores() error {
	var err error
	k.bus, err = bus.Open(bus.Options{
		KernelID: k.id, Listen: k.o.NATS, RuntimeDir: filepath.Dir(k.o.Paths.Socket),
		Principal: ownerPrincipal(), Log: k.log, Frame: gateway.AppendEvent,
	})
	if err != nil {
		return err
	}
	k.store, err = journal.Open(journal.Options{
		Dir:     filepath.Join(k.o.Paths.StateDir, "journal"),
		BlobDir: filepath.Join(k.o.Paths.StateDir, "blobs"),
		Log:     k.log, SyncAlways: k.o.SyncAlways, Publish: k.bus.Deliver,
	})
	return err
}

// serve accepts connections until the socket is closed.
func (k *Kernel) serve(s *socket) {
	if err := k.gate.Serve(s.l); err != nil {
		k.log.Error("socket does not serve", "err", err)
	}
}

// keepSocket binds the socket again when its path has vanished.
func (k *Kernel) keepSocket() {
	tick := time.NewTicker(k.o.SocketCheck)
	defer tick.Stop()
	for {
		select {
		case <-k.quit:
			return
		case <-tick.C:
			k.checkSocket()
		}
	}
}

func (k *Kernel) checkSocket() {
	if k.socket.ours() {
		return
	}
	next := &socket{path: k.socket.path, given: k.socket.given, group: k.socket.group}
	if err := next.bind(); err != nil {
		k.log.Warn("socket is gone and cannot be bound again", "err", err)
		return
	}
	k.serving.Go(func() { k.serve(next) })
	k.socket.l.Close()
	k.socket = next
	k.log.Warn("socket was gone and is bound again", "socket", next.path)
}

// event publishes on the kernel's own channel.
func (k *Kernel) event(kind, actor, reason string) {
	payload := map[string]string{"kind": kind}
	if actor != "" {
		payload["actor"] = actor
	}
	if reason != "" {
		payload["reason"] = reason
	}
	k.store.Append(messages.Record{Events: []messages.Draft{{
		Key: messages.ChannelKey{Name: "kernel"}, Payload: messages.JSON(payload),
	}}}, func(messages.Appended) {})
}

// Stopping is closed when a client has asked the kernel to stop.
func (k *Kernel) Stopping() <-chan struct{} { return k.stopping }

// Reload reads the policy again; a bad one keeps the old one in force.
func (k *Kernel) Reload() {
	if err := k.policy.reload(); err != nil {
		k.log.Error("policy not reloaded", "err", err)
		k.event("policy", "", err.Error())
		return
	}
	k.event("policy", "", "reloaded")
}

// Actors is the actor system, for tests of what survives.
func (k *Kernel) Actors() *supervisor.System { return k.sys }

// Socket is where the kernel serves.
func (k *Kernel) Socket() string { return k.o.Paths.Socket }

// An orderly stop takes at most 5 s: work has workTime to end, by the ladder;
// connections and parts have what is left of stopTime.
const (
	workTime = 3200 * time.Millisecond
	stopTime = 4500 * time.Millisecond
)

// Stop refuses new work, ends tasks and terminals by the ladder, flushes, and
// lets go of the state directory. Stopping again waits for the same stop.
func (k *Kernel) Stop(ctx context.Context) error {
	k.quitOnce.Do(func() { k.stopErr = k.stop(ctx) })
	return k.stopErr
}

func (k *Kernel) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	close(k.quit)
	k.gate.Refuse()
	if k.http != nil {
		k.http.Refuse()
	}
	k.event("stop", "", "")
	k.endWork(ctx)
	k.keeping.Wait()
	k.socket.close() // before the goodbye, so that nobody attaches again
	err := k.closeFaces(ctx)
	k.serving.Wait()
	return errors.Join(err, k.closeParts(ctx))
}

// closeFaces ends all connections. HTTP sessions end when the gateway takes
// their places away, and the gateway waits for them.
func (k *Kernel) closeFaces(ctx context.Context) error {
	var ending sync.WaitGroup
	var err error
	if k.http != nil {
		ending.Go(func() { err = k.http.Close(ctx) })
	}
	gone := k.gate.Close(ctx)
	ending.Wait()
	return errors.Join(gone, err)
}

// endWork ends tasks and terminals, and then every process that is left.
func (k *Kernel) endWork(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, workTime)
	defer cancel()
	k.sessions.Retire()
	var ending sync.WaitGroup
	ending.Go(func() { k.tasks.EndAll(ctx) })
	ending.Go(func() { k.ptys.CloseAll(ctx) })
	ending.Wait()
	if left := k.runner.KillAll(ctx, proc.KillLadder()); len(left) > 0 {
		k.log.Warn("processes cannot be ended", "count", len(left))
	}
}

// closeParts takes down what open brought up, in reverse.
func (k *Kernel) closeParts(ctx context.Context) error {
	var errs []error
	if k.sys != nil {
		errs = append(errs, k.sys.Shutdown(ctx))
	}
	if k.deps != nil {
		errs = append(errs, k.deps.Wait(ctx))
	}
	if k.store != nil {
		errs = append(errs, k.store.Close())
	}
	if k.bus != nil {
		errs = append(errs, k.bus.Close(ctx))
	}
	if k.runner != nil {
		errs = append(errs, k.runner.Close())
	}
	if k.log != nil {
		k.log.Info("kernel stopped", "err", errors.Join(errs...))
	}
	if k.logFile != nil {
		errs = append(errs, k.logFile.Close())
	}
	if k.lock != nil {
		errs = append(errs, k.lock.Close())
	}
	return errors.Join(errs...)
}

// abort takes down a kernel that did not come up.
func (k *Kernel) abort(cause error) {
	if k.log != nil {
		k.log.Error("kernel did not start", "err", cause)
	}
	if k.socket != nil && k.socket.l != nil {
		k.socket.close()
	}
	if k.http != nil {
		k.http.Close(context.Background()) // nobody is in it yet
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := k.closeParts(ctx); err != nil && k.log != nil {
		k.log.Warn("clean up after a failed start", "err", err)
	}
}
