package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/actors"
	"shoal.dev/shoal/bus"
	"shoal.dev/shoal/gateway"
	"shoal.dev/shoal/host"
	"shoal.dev/shoal/journal"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/link"
	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor"
	"shoal.dev/shoal/ptyactor/screen"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/token"
)

// buildTree closes the books of an earlier kernel and starts the actors.
func (k *Kernel) buildTree(left actors.Interrupted) error {
	k.sys = supervisor.New(supervisor.Options{
		Log: k.log, Chaos: k.o.Chaos,
		OnEvent: func(e supervisor.Event) { k.event(e.Kind, e.Actor, e.Reason) },
	})
	k.deps = k.newDeps()
	if err := actors.RestoreTasks(k.deps, left); err != nil {
		return err
	}
	if err := k.closeEntries(); err != nil {
		return err
	}
	plans, err := actors.LoadPlans(k.deps)
	if err != nil {
		return fmt.Errorf("read plans: %w", err)
	}
	k.tasks = actors.NewTaskStore(k.deps)
	k.sessions = actors.NewSessionStore(k.deps, k.tasks)
	k.memory.OnShort(func() bool { return k.sessions.Relieve(unusedFull) })
	if err := k.newPTYs(); err != nil {
		return err
	}
	if err := k.newGateway(); err != nil {
		return err
	}
	children := []supervisor.Spec{
		{Name: "journal", New: journal.NewActor(k.sys, k.store)},
		{Name: "bus", New: bus.NewActor(k.sys, k.bus)},
		{Name: actors.PlansName, New: actors.NewPlanStore(plans)},
		{Name: actors.TasksName, New: actors.NewTasks(k.tasks)},
		{Name: actors.SessionsName, New: actors.NewSessions(k.sessions)},
		{Name: "ptys", New: ptyactor.NewRegistryActor(k.sys, k.ptys)},
	}
	up := make(chan error, 1)
	_, err = k.sys.Spawn(supervisor.Spec{Name: "kernel", New: func() actor.Actor {
		return &top{sys: k.sys, children: children, up: up}
	}})
	if err != nil {
		return err
	}
	return <-up
}

// top is the root of the tree: everything is its descendant.
type top struct {
	sys      *supervisor.System
	children []supervisor.Spec
	up       chan<- error
}

// Receive starts the children, and those that have ended again.
func (t *top) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started, *actor.Terminated:
		for _, spec := range t.children {
			if _, err := t.sys.SpawnChild(ctx, spec); err != nil {
				t.report(err)
				return
			}
		}
		t.report(nil)
	}
}

// report tells the starter, which listens once.
func (t *top) report(err error) {
	select {
	case t.up <- err:
	default:
	}
}

func ownerPrincipal() messages.Principal {
	return messages.Principal("uid:" + strconv.Itoa(os.Getuid()))
}

// ownerEnv is the environment of sessions whose client gives none, and the
// owner's home.
func (k *Kernel) ownerEnv() (env []string, home string) {
	get := func(name string) string {
		for _, kv := range k.o.Environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				return v
			}
		}
		return ""
	}
	home, name := get("HOME"), get("USER")
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil {
		if home == "" {
			home = u.HomeDir
		}
		name = u.Username
	}
	if home == "" {
		home = "/"
	}
	shell, lang := get("SHELL"), get("LANG")
	if shell == "" {
		shell = "/bin/sh"
	}
	if lang == "" {
		lang = "C.UTF-8"
	}
	return []string{
		"HOME=" + home, "USER=" + name, "LOGNAME=" + name, "SHELL=" + shell, "LANG=" + lang,
		"PATH=" + standardPath,
	}, home
}

// standardPath is the PATH of sessions whose client gives none.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// policyPath is where policy looks for programs: the PATH that the kernel was
// started with, never a session's.
func (k *Kernel) policyPath() string {
	for _, kv := range k.o.Environ {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok && v != "" {
			return v
		}
	}
	return standardPath
}

func (k *Kernel) newDeps() *actors.Deps {
	_, home := k.ownerEnv()
	tasks, entries, steps := k.store.Numbers("task"), k.store.Numbers("entry"), k.store.Numbers("step")
	return &actors.Deps{
		Sys: k.sys, Log: k.log, Journal: contents{k.store, k.secrets}, Mask: k.secrets.Mask, Margin: k.secrets.Margin, Runner: k.runner, Compiler: lang.NewCompiler(),
		NextTask: tasks.Next, NextEntry: entries.Next, NextStep: steps.Next,
		Files:  host.Files{TrashDir: k.o.Paths.StateDir + "/trash"},
		Policy: k.policy.get, NewHost: k.newHost, Owner: ownerPrincipal(),
		Publish: func(key messages.ChannelKey, payload []byte) {
			if _, err := k.bus.PublishMemory(key, payload); err != nil {
				k.log.Debug("publish", "channel", key.Name, "err", err)
			}
		},
		ClosePTYs: func(ctx context.Context, s messages.SessionName) { k.ptys.CloseSession(ctx, s) },
		Cut:       func(s messages.SessionName, p messages.Principal, except string) { k.gate.Cut(s, p, except) },
		HasPTYs:   func(s messages.SessionName) bool { return len(k.ptys.List(s).PTYs) > 0 },
		Now:       time.Now, Home: home, ResidentLimit: k.o.ResidentLimit, BindingLimit: programMemory() / 4,
		LookPath: func(name string) string {
			path, err := k.runner.LookPath(name, k.policyPath(), "/")
			if err != nil {
				return ""
			}
			return path
		},
	}
}

func (k *Kernel) newGateway() error {
	var err error
	if k.mcp, err = mcp.NewServer(mcp.Options{Version: link.Version(), Log: k.log, Go: k.sys.Go}); err != nil {
		return err
	}
	env, home := k.ownerEnv()
	k.gate = gateway.New(gateway.Options{
		Sys: k.sys, Log: k.log, Store: reads{k.store}, Channels: channels{k.store, k.bus},
		To: gateway.Addresses{
			Journal: k.sys.PID("kernel/journal"), Sessions: k.sys.PID("kernel/" + actors.SessionsName),
			Session: func(s messages.SessionName) *actor.PID {
				return k.sys.PID("kernel/" + actors.SessionsName + "/" + string(s))
			},
			Tasks: k.sys.PID("kernel/" + actors.TasksName), Plans: k.sys.PID("kernel/" + actors.PlansName),
			PTYs: k.sys.PID("kernel/ptys"),
		},
		MCP: k.mcp, Version: link.Version(), KernelID: k.id, OwnerUID: os.Getuid(),
		OwnerEnv: env, OwnerHome: home, Tokens: token.Open(k.o.Paths.StateDir), RequireToken: k.o.RequireToken, WriteTime: k.o.WriteTime,
		AnyUID: k.o.SocketGroup != "", Caps: k.caps, Info: k.info, Fresh: k.deps.ReadFresh, Jobs: k.tasks.Watch, Things: k.deps.WatchThings,
		Shutdown: func() { k.stopOnce.Do(func() { close(k.stopping) }) },
	})
	return nil
}

// newPTYs makes the registry of terminals.
func (k *Kernel) newPTYs() error {
	engine, err := screen.ParseEngine(k.o.PTYEngine)
	if err != nil {
		return err
	}
	numbers := k.store.Numbers("pty")
	k.ptys = ptyactor.NewRegistry(ptyactor.Config{
		Runner: k.runner, Next: numbers.Next, Log: k.log, Engine: engine,
		Publish: func(key messages.ChannelKey, payload json.RawMessage) { k.deps.Publish(key, payload) },
		Changed: k.deps.ThingsChanged,
		Hide: func() func([]byte) {
			if !k.secrets.Known() {
				return nil
			}
			return k.secrets.Mask
		},
		Keep: &ptyactor.Keeper{
			Dir: filepath.Join(k.o.Paths.StateDir, "run"), Put: k.store.PutBlob, Mask: k.secrets.MaskReader,
		},
	})
	return nil
}

// info is the answer of kernel.info.
func (k *Kernel) info() any {
	return messages.KernelInfo{
		Version: link.Version(), ProtocolVersion: messages.ProtocolVersion, KernelID: k.id, PID: os.Getpid(),
		Socket: k.o.Paths.Socket, StateDir: k.o.Paths.StateDir, StartedNS: k.started.UnixNano(),
		UptimeMS: time.Since(k.started).Milliseconds(), Connections: k.gate.Connections(),
		LiveTasks: k.tasks.Live(), NATS: k.bus.Addr(), MCPHTTP: k.HTTPAddr(),
	}
}

// caps says what a principal may do, in outline, and whether all that its
// policy restricts is enforced by the system.
func (k *Kernel) caps(p messages.Principal) (messages.Caps, bool) {
	table := k.deps.PolicyPrincipal(p)
	rules := k.policy.get().For(table)
	mode, enforced, detail := "open", "false", "this principal is not restricted"
	if !rules.Unrestricted() {
		mode, detail = "none", "policy is checked before and while a program runs; what an external program does is not confined"
	}
	caps := messages.Caps{
		Profile: table, PolicyPrincipal: table, TokenCaps: []string{}, Opaque: rules.Opaque.String(),
		Dimensions: map[string]messages.Dimension{},
	}
	for _, name := range []string{"filesystem", "network", "spawn_identity", "process_tree", "resources"} {
		caps.Dimensions[name] = messages.Dimension{Mode: mode, Enforced: []byte(enforced), Detail: detail}
	}
	return caps, false
}
