// Package effect is the vocabulary of what a program can do to the world.
//
// It holds plain values only: the planner derives them, policy judges them, the
// journal stores them, and every wire shows them in the same spelling. Nothing
// here decides anything.
package effect

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind is one sort of effect. The zero Kind is no effect at all.
type Kind uint8

// The kinds, in the order in which tables list them.
const (
	FSRead Kind = iota + 1
	FSWrite
	FSDelete
	ProcSpawn
	NetConnect
	NetListen
	EnvRead
	EnvWrite
	SecretUse
	SessionWrite
	JournalRead
	Time
	Opaque
)

var kindNames = [...]string{
	FSRead: "fs_read", FSWrite: "fs_write", FSDelete: "fs_delete",
	ProcSpawn: "proc_spawn", NetConnect: "net_connect", NetListen: "net_listen",
	EnvRead: "env_read", EnvWrite: "env_write", SecretUse: "secret_use",
	SessionWrite: "session_write", JournalRead: "journal_read",
	Time: "time", Opaque: "opaque",
}

// Kinds lists every kind in table order.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kindNames)-1)
	for k := FSRead; int(k) < len(kindNames); k++ {
		all = append(all, k)
	}
	return all
}

// String is the wire spelling, such as "fs_read".
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("effect(%d)", uint8(k))
	}
	return kindNames[k]
}

// Dotted is the spelling used in policy files and in the language: "fs.read".
func (k Kind) Dotted() string { return strings.Replace(k.String(), "_", ".", 1) }

// ParseKind accepts both spellings.
func ParseKind(s string) (Kind, bool) {
	s = strings.Replace(s, ".", "_", 1)
	for k := FSRead; int(k) < len(kindNames); k++ {
		if kindNames[k] == s {
			return k, true
		}
	}
	return 0, false
}

// MarshalText writes the wire spelling.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads either spelling.
func (k *Kind) UnmarshalText(b []byte) error {
	got, ok := ParseKind(string(b))
	if !ok {
		return fmt.Errorf("unknown effect kind %q", b)
	}
	*k = got
	return nil
}

// Span is a half-open range of source bytes.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Any is the target of an effect whose argument is computed at run time.
const Any = "*"

// Effect is one thing a program may do, with the target it does it to. Exactly
// the target field that belongs to the kind is set: Path for file effects, Host
// and Port for network ones, Name for variables and secrets, Argv0 for spawns.
// Origin is the plan that is applied, if the effect is one of that.
type Effect struct {
	Kind   Kind   `json:"kind"`
	Path   string `json:"path,omitempty"`
	Host   string `json:"host,omitempty"`
	Port   string `json:"port,omitempty"`
	Name   string `json:"name,omitempty"`
	Argv0  string `json:"argv0,omitempty"`
	Span   *Span  `json:"span,omitempty"`
	Origin string `json:"origin,omitempty"`
	Why    string `json:"why,omitempty"`
}

// Target is the effect's target as one string; empty for marker effects.
func (e Effect) Target() string {
	switch e.Kind {
	case FSRead, FSWrite, FSDelete:
		return e.Path
	case ProcSpawn:
		return e.Argv0
	case NetConnect, NetListen:
		if e.Port == "" {
			return e.Host
		}
		return e.Host + ":" + e.Port
	case EnvRead, EnvWrite, SecretUse:
		return e.Name
	case Opaque:
		return e.Why
	default:
		return ""
	}
}

// Same reports whether two effects do the same thing to the same target,
// wherever in the source they stand.
func (e Effect) Same(o Effect) bool {
	return e.Kind == o.Kind && e.Target() == o.Target()
}

// String is the spelling of plan records: "fs.delete(/tmp/x)". What has no target
// says why it is there, if that is known.
func (e Effect) String() string {
	return e.Kind.Dotted() + "(" + cmp.Or(e.Target(), e.Why) + ")"
}

// Reversibility says how much of a program's work has a recorded inverse.
type Reversibility string

// The degrees of reversibility.
const (
	Reversible   Reversibility = "reversible"
	Conditional  Reversibility = "conditional"
	Irreversible Reversibility = "irreversible"
	Unknown      Reversibility = "unknown"
)
