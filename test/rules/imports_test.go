// Package rules holds the house rules that are tests: who may import whom, and
// which references are generated.
package rules

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

const module = "shoal.dev/shoal"

// allowed is the table of ARCHITECTURE.md: the packages of ours that each
// package may import. A trailing /* stands for everything below.
var allowed = map[string][]string{
	"messages":           {"lang/effect"},
	"supervisor":         {"messages"},
	"lang":               {"lang/*"},
	"lang/syntax":        {},
	"lang/resolve":       {"lang/syntax"},
	"lang/value":         {},
	"lang/effect":        {},
	"lang/interp":        {"lang/syntax", "lang/resolve", "lang/value", "lang/effect"},
	"lang/builtin":       {"lang/interp", "lang/syntax", "lang/value", "lang/effect"},
	"lang/plan":          {"lang/syntax", "lang/resolve", "lang/value", "lang/effect", "lang/interp", "lang/builtin"},
	"lang/view":          {"lang/value"},
	"leash":              {"lang/effect"},
	"proc":               {"leash"},
	"journal":            {"messages", "supervisor", "lang/effect"},
	"bus":                {"messages", "supervisor"},
	"ptyactor/screen":    {},
	"ptyactor/recording": {},
	"ptyactor":           {"messages", "supervisor", "proc", "ptyactor/screen", "ptyactor/recording"},
	"host":               {"lang/*", "leash", "proc"},
	"actors":             {"messages", "supervisor", "lang", "lang/*", "host", "leash", "proc"},
	"wire":               {"messages"},
	"link":               {"messages", "wire"},
	"client":             {"messages", "wire", "link"},
	"mcp":                {"messages"},
	"token":              {},
	"mcphttp":            {"messages", "wire", "mcp"},
	"gateway":            {"messages", "supervisor", "wire", "mcp", "token", "lang/effect"},
	"cmd/shoal-kernel":   {"kernel", "link"},
	"cmd/shoal-mcp":      {"link"},
	"cmd/shoal-launch":   {},
	"cmd/shoal":          {"lang", "lang/*", "host", "proc", "link", "wire", "messages", "leash", "journal", "token", "ptyactor/recording", "ptyactor/screen"},
}

type pkg struct {
	ImportPath string
	Imports    []string
}

// packages lists this module's packages with their direct imports.
func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
	return all
}

func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		// The composition root and the tests may know everything but commands.
		free := name == "kernel" || strings.HasPrefix(name, "test/")
		rule, known := allowed[name]
		if !free && !known {
			t.Errorf("package %s has no row in the table of allowed imports; draw it in ARCHITECTURE.md first", name)
			continue
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, module+"/")
			switch {
			case !ok:
			case strings.HasPrefix(ours, "cmd/"):
				t.Errorf("%s imports %s: commands are imported by nobody", name, ours)
			case !free && !permitted(rule, ours):
				t.Errorf("%s imports %s, which its row does not allow (allowed: %s)", name, ours, strings.Join(rule, ", "))
			}
		}
	}
}

func permitted(rule []string, name string) bool {
	for _, r := range rule {
		if dir, wild := strings.CutSuffix(r, "/*"); r == name || wild && strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// heavy are the modules that a relay process must not link: there is one relay
// for every agent.
var heavy = []string{"github.com/mark3labs/mcp-go", "github.com/asynkron/protoactor-go", "github.com/nats-io"}

func TestRelayIsLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/shoal-mcp").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, h := range heavy {
			if strings.HasPrefix(dep, h) {
				t.Errorf("shoal-mcp links %s", dep)
			}
		}
	}
}
