package leash

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"shoal.dev/shoal/lang/effect"
)

// file is the shape of policy.toml.
type file struct {
	Principal map[string]fileRules `toml:"principal"`
}

type fileRules struct {
	Sessions     []string         `toml:"sessions"`
	Roots        []string         `toml:"roots"`
	AutoApply    *string          `toml:"auto_apply"`
	Opaque       *string          `toml:"opaque"`
	Approve      []string         `toml:"approve"`
	JournalScope *string          `toml:"journal_scope"`
	Require      []string         `toml:"require"`
	Channels     []string         `toml:"channels"`
	Effects      map[string]any   `toml:"effects"`
	Limits       map[string]int64 `toml:"limits"`
}

// Load reads a policy file. Its error names file, line where it can, and
// reason.
func Load(path string) (*Policy, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	p, err := Parse(string(src))
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", path, err)
	}
	return p, nil
}

// Parse reads a policy from its text.
func Parse(src string) (*Policy, error) {
	var f file
	meta, err := toml.Decode(src, &f)
	if err != nil {
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: %s", syntax.Position.Line, syntax.Message)
		}
		return nil, err
	}
	for _, key := range meta.Undecoded() {
		// Below an effect, readTable checks the keys itself.
		if len(key) < 5 || key[2] != "effects" {
			return nil, fmt.Errorf("line %d: unknown key %q", lineOf(src, key), key.String())
		}
	}
	p := Default()
	for name, raw := range f.Principal {
		rules, err := raw.rules(name)
		if err != nil {
			return nil, fmt.Errorf("line %d: principal %q: %w", lineOf(src, toml.Key{"principal", name}), name, err)
		}
		p.rules[name] = rules
	}
	return p, nil
}

// lineOf finds where a key is written: the first line that holds its last
// part. It is a help for the reader, not a contract.
func lineOf(src string, key toml.Key) int {
	last := key[len(key)-1]
	for i, line := range strings.Split(src, "\n") {
		if strings.Contains(line, last) {
			return i + 1
		}
	}
	return 1
}

// rules checks one principal's table and fills in the defaults.
func (f fileRules) rules(name string) (*Rules, error) {
	r := &Rules{
		Principal: name, Sessions: f.Sessions, Roots: f.Roots, AutoApply: InGrant,
		Opaque: Deny, Approve: f.Approve, JournalScope: "own", Require: f.Require,
		Channels: f.Channels, Limits: f.Limits, Effects: map[string]Lists{},
	}
	if name == LocalHuman {
		r = openRules(name)
		r.Approve, r.Require, r.Channels, r.Limits, r.Roots = f.Approve, f.Require, f.Channels, f.Limits, f.Roots
		if f.Sessions != nil {
			r.Sessions = f.Sessions
		}
	}
	if err := f.scalars(r); err != nil {
		return nil, err
	}
	for _, key := range sortedKeys(f.Effects) {
		kind, ok := effect.ParseKind(key)
		if !ok {
			return nil, fmt.Errorf("effects: unknown kind %q", key)
		}
		lists, err := readLists(kind, f.Effects[key])
		if err != nil {
			return nil, fmt.Errorf("effects %q: %w", key, err)
		}
		if usesCwd(lists) && len(f.Roots) == 0 && name != LocalHuman {
			return nil, fmt.Errorf("effects %q: $CWD needs roots, which say where the principal may create a session", key)
		}
		r.Effects[kind.String()] = lists
	}
	return r, nil
}

// scalars reads the keys that hold one word.
func (f fileRules) scalars(r *Rules) error {
	if f.AutoApply != nil {
		switch v := AutoApply(*f.AutoApply); v {
		case Never, InGrant, Reversible:
			r.AutoApply = v
		default:
			return fmt.Errorf("auto_apply is %q; it must be never, in-grant or reversible", v)
		}
	}
	if f.Opaque != nil {
		switch *f.Opaque {
		case "allow":
			r.Opaque = Allow
		case "ask":
			r.Opaque = Ask
		case "deny":
			r.Opaque = Deny
		default:
			return fmt.Errorf("opaque is %q; it must be deny, ask or allow", *f.Opaque)
		}
	}
	if f.JournalScope != nil {
		switch *f.JournalScope {
		case "own", "session", "all":
			r.JournalScope = *f.JournalScope
		default:
			return fmt.Errorf("journal_scope is %q; it must be own, session or all", *f.JournalScope)
		}
	}
	return nil
}

// readLists reads the value of one effect: a bool for markers, else a list of
// allow patterns or a table of allow, ask and deny.
func readLists(kind effect.Kind, raw any) (Lists, error) {
	switch v := raw.(type) {
	case bool:
		switch kind {
		case effect.SessionWrite, effect.JournalRead, effect.Time:
		default:
			return Lists{}, errors.New("takes a list, not a boolean")
		}
		if v {
			return Lists{Allow: []string{"true"}}, nil
		}
		return Lists{Deny: []string{"true"}}, nil
	case []any:
		allow, err := patterns(kind, v)
		return Lists{Allow: allow}, err
	case map[string]any:
		return readTable(kind, v)
	default:
		return Lists{}, fmt.Errorf("takes a list or {allow, ask, deny}, not %T", raw)
	}
}

func readTable(kind effect.Kind, table map[string]any) (Lists, error) {
	var lists Lists
	for _, key := range sortedKeys(table) {
		items, ok := table[key].([]any)
		if !ok {
			return Lists{}, fmt.Errorf("%s takes a list", key)
		}
		ps, err := patterns(kind, items)
		if err != nil {
			return Lists{}, err
		}
		switch key {
		case "allow":
			lists.Allow = ps
		case "ask":
			lists.Ask = ps
		case "deny":
			lists.Deny = ps
		default:
			return Lists{}, fmt.Errorf("unknown key %q; use allow, ask or deny", key)
		}
	}
	return lists, nil
}

// patterns checks that each entry is a pattern of the kind.
func patterns(kind effect.Kind, items []any) ([]string, error) {
	out := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("entry %v is no string", item)
		}
		if err := checkPattern(kind, s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func checkPattern(kind effect.Kind, s string) error {
	switch kind {
	case effect.FSRead, effect.FSWrite, effect.FSDelete:
		if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "~/") && s != "$CWD" && !strings.HasPrefix(s, "$CWD/") {
			return fmt.Errorf("path %q must start with /, ~/ or $CWD", s)
		}
	case effect.ProcSpawn:
		if strings.HasPrefix(s, "blake3:") {
			return fmt.Errorf("%q: executables are not identified by hash in this version; give a name or a path", s)
		}
	case effect.NetConnect:
		if !strings.Contains(s, ":") {
			return fmt.Errorf("host %q needs a port, or :* for any", s)
		}
	}
	return nil
}

func usesCwd(l Lists) bool {
	for _, list := range [][]string{l.Allow, l.Ask, l.Deny} {
		for _, s := range list {
			if strings.HasPrefix(s, "$CWD") {
				return true
			}
		}
	}
	return false
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
