package kernel

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestConfiguration(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "[kernel]\nnats = \n", "line 2"},
		{"type", "[kernel]\nrequire_token = \"yes\"\n", "line 2"},
		{"sync", "[journal]\nsync = \"never\"\n", `journal.sync is "never"`},
		{"engine", "[kernel]\npty_engine = \"vt52\"\n", `unknown terminal engine "vt52"`},
		{"limit", "[limits]\nresident_bytes = -1\n", "must not be negative"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, _ := options(t)
			o.ConfigDir = filepath.Join(filepath.Dir(o.Paths.Socket), "config")
			write(t, filepath.Join(o.ConfigDir, "shoal.toml"), c.text)
			refuses(t, o, c.want)
		})
	}
}

func TestConfigurationFillsWhatIsOpen(t *testing.T) {
	o, log := options(t)
	o.ConfigDir = filepath.Join(filepath.Dir(o.Paths.Socket), "config")
	write(t, filepath.Join(o.ConfigDir, "shoal.toml"),
		"[journal]\nsync = \"always\"\n[limits]\nresident_bytes = 4096\nnonsense = 1\n[colour]\nx = 1\n")
	k := start(t, o)
	if !k.o.SyncAlways || k.deps.ResidentLimit != 4096 {
		t.Errorf("got sync %t, resident %d", k.o.SyncAlways, k.deps.ResidentLimit)
	}
	for _, key := range []string{"limits.nonsense", "colour"} {
		if !log.has(key) {
			t.Errorf("nobody warns of %s", key)
		}
	}
}

func TestFlagsBeatTheConfiguration(t *testing.T) {
	o, _ := options(t)
	o.ConfigDir = filepath.Join(filepath.Dir(o.Paths.Socket), "config")
	o.ResidentLimit = 1000
	write(t, filepath.Join(o.ConfigDir, "shoal.toml"), "[limits]\nresident_bytes = 4096\n")
	if k := start(t, o); k.deps.ResidentLimit != 1000 {
		t.Errorf("got %d", k.deps.ResidentLimit)
	}
}

const denying = `
[principal."local-human".effects]
"proc.spawn" = { deny = ["*"] }
`

func TestPolicyFiles(t *testing.T) {
	o, _ := options(t)
	o.Policy = filepath.Join(filepath.Dir(o.Paths.Socket), "policy.toml")
	refuses(t, o, "policy.toml")
	write(t, o.Policy, "[principal.\"x\"]\nroots = 3\n")
	refuses(t, o, "line 2")
}

func TestPolicyIsReloaded(t *testing.T) {
	o, _ := options(t)
	o.ConfigDir = filepath.Join(filepath.Dir(o.Paths.Socket), "config")
	k := start(t, o)
	c := attach(t, k)
	spawn := func() bool {
		id := c.send("exec", map[string]any{"src": "^true", "position": "value"})
		for {
			if f := c.frame(); f["id"] == float64(id) {
				return f["error"] == nil
			}
		}
	}
	if !spawn() {
		t.Fatal("without a policy the local human may not spawn")
	}
	path := filepath.Join(o.ConfigDir, "policy.toml")
	write(t, path, denying)
	k.Reload()
	if spawn() {
		t.Error("the new policy is not in force")
	}
	if got := c.events("kernel"); !strings.Contains(got, "reloaded") {
		t.Errorf("events: %s", got)
	}
	write(t, path, "[principal")
	k.Reload()
	if spawn() {
		t.Error("a bad edit has replaced the policy")
	}
	if got := c.events("kernel"); !strings.Contains(got, "policy.toml") {
		t.Errorf("the event does not say why: %s", got)
	}
}
