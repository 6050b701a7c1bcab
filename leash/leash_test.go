package leash

import (
	"strings"
	"testing"

	"shoal.dev/shoal/lang/effect"
)

var scene = Scene{Cwd: "/w/proj", Home: "/home/u", LookPath: func(name string) string {
	return map[string]string{"git": "/usr/bin/git"}[name]
}}

func mustParse(t *testing.T, src string) *Policy {
	t.Helper()
	p, err := Parse(src)
	if err != nil {
		t.Fatalf("parse policy: %v", err)
	}
	return p
}

func TestJudge(t *testing.T) {
	p := mustParse(t, `
[principal."agent:r"]
roots = ["/w/*"]
opaque = "ask"
[principal."agent:r".effects]
"fs.read" = ["$CWD/**", "/usr/**"]
"fs.write" = { allow = ["$CWD/**"], ask = ["~/notes/**"], deny = ["$CWD/.git/**"] }
"fs.delete" = { ask = ["$CWD/**"] }
"proc.spawn" = ["git", "/usr/bin/python3"]
"net.connect" = ["github.com:443", "*.example.net:*", "[::1]:8443"]
"env.read" = ["HOME"]
time = true
`)
	r := p.For("agent:r")
	cases := []struct {
		e    effect.Effect
		want Outcome
	}{
		{effect.Effect{Kind: effect.FSRead, Path: "/w/proj/a/b"}, Allow},
		{effect.Effect{Kind: effect.FSRead, Path: "/w/proj"}, Allow},
		{effect.Effect{Kind: effect.FSRead, Path: "/w/project"}, Deny},
		{effect.Effect{Kind: effect.FSRead, Path: "/w/proj/../x"}, Deny},
		{effect.Effect{Kind: effect.FSRead, Path: "relative"}, Deny},
		{effect.Effect{Kind: effect.FSRead, Path: "*"}, Allow},
		{effect.Effect{Kind: effect.FSWrite, Path: "/w/proj/x"}, Allow},
		{effect.Effect{Kind: effect.FSWrite, Path: "/home/u/notes/n"}, Ask},
		{effect.Effect{Kind: effect.FSWrite, Path: "/w/proj/.git/hooks/x"}, Deny},
		{effect.Effect{Kind: effect.FSDelete, Path: "/w/proj/x"}, Ask},
		{effect.Effect{Kind: effect.FSDelete, Path: "*"}, Ask},
		{effect.Effect{Kind: effect.ProcSpawn, Argv0: "git"}, Allow},
		{effect.Effect{Kind: effect.ProcSpawn, Argv0: "git", Path: "/tmp/git"}, Deny},
		{effect.Effect{Kind: effect.ProcSpawn, Argv0: "git", Path: "/usr/bin/git"}, Allow},
		{effect.Effect{Kind: effect.ProcSpawn, Argv0: "python3", Path: "/usr/bin/python3"}, Allow},
		{effect.Effect{Kind: effect.ProcSpawn, Argv0: "rm"}, Deny},
		{effect.Effect{Kind: effect.NetConnect, Host: "GitHub.com.", Port: "443"}, Allow},
		{effect.Effect{Kind: effect.NetConnect, Host: "github.com", Port: "80"}, Deny},
		{effect.Effect{Kind: effect.NetConnect, Host: "a.example.net", Port: "1"}, Allow},
		{effect.Effect{Kind: effect.NetConnect, Host: "::1", Port: "8443"}, Allow},
		{effect.Effect{Kind: effect.EnvRead, Name: "HOME"}, Allow},
		{effect.Effect{Kind: effect.EnvRead, Name: "PATH"}, Deny},
		{effect.Effect{Kind: effect.Time}, Allow},
		{effect.Effect{Kind: effect.SessionWrite}, Deny},
		{effect.Effect{Kind: effect.Opaque, Why: "sh"}, Ask},
	}
	for _, c := range cases {
		if got := r.Judge(c.e, scene); got.Outcome != c.want {
			t.Errorf("Judge(%v) = %v by %q, want %v", c.e, got.Outcome, got.Rule, c.want)
		}
	}
}

func TestDecideTakesTheStrictest(t *testing.T) {
	p := mustParse(t, `
[principal.local-human.effects]
"fs.write" = { allow = ["/tmp/**"], ask = ["/etc/**"] }
"fs.delete" = { deny = ["/**"] }
`)
	r := p.For(LocalHuman)
	write := effect.Effect{Kind: effect.FSWrite, Path: "/etc/x"}
	del := effect.Effect{Kind: effect.FSDelete, Path: "/etc/x"}
	spawn := effect.Effect{Kind: effect.ProcSpawn, Argv0: "anything"}
	if v := r.Decide([]effect.Effect{spawn}, effect.Unknown, scene); v.Outcome != Allow {
		t.Errorf("what the local human's table leaves out: %v, want allow", v.Outcome)
	}
	if v := r.Decide([]effect.Effect{spawn, write}, effect.Unknown, scene); v.Outcome != Ask {
		t.Errorf("spawn and asked write: %v, want ask", v.Outcome)
	}
	v := r.Decide([]effect.Effect{write, del, spawn}, effect.Unknown, scene)
	if v.Outcome != Deny || v.Effect.Kind != effect.FSDelete || v.Dimension != "filesystem" {
		t.Errorf("with a denied delete: %+v", v)
	}
}

func TestAutoApply(t *testing.T) {
	const base = "[principal.local-human]\nauto_apply = %q\n[principal.local-human.effects]\n\"fs.write\" = { ask = [\"/**\"] }\n"
	write := []effect.Effect{{Kind: effect.FSWrite, Path: "/x"}}
	read := []effect.Effect{{Kind: effect.FSRead, Path: "/x"}}
	cases := []struct {
		mode    string
		effects []effect.Effect
		rev     effect.Reversibility
		want    Outcome
	}{
		{"never", read, effect.Reversible, Ask},
		{"never", nil, effect.Reversible, Allow},
		{"in-grant", write, effect.Reversible, Ask},
		{"reversible", write, effect.Reversible, Allow},
		{"reversible", write, effect.Irreversible, Ask},
	}
	for _, c := range cases {
		r := mustParse(t, strings.Replace(base, "%q", `"`+c.mode+`"`, 1)).For(LocalHuman)
		if got := r.Decide(c.effects, c.rev, scene).Outcome; got != c.want {
			t.Errorf("auto_apply %s, %v, %v: %v, want %v", c.mode, c.effects, c.rev, got, c.want)
		}
	}
}

func TestUnknownPrincipalMayNothing(t *testing.T) {
	r := Default().For("agent:stranger")
	if r.MayUseSession("default") {
		t.Error("an unknown principal may use a session")
	}
	for _, k := range effect.Kinds() {
		if v := r.Judge(effect.Effect{Kind: k, Path: "/x"}, scene); v.Outcome != Deny {
			t.Errorf("an unknown principal's %v: %v, want deny", k, v.Outcome)
		}
	}
}

func TestParseRefusesBadPolicies(t *testing.T) {
	cases := []struct{ src, want string }{
		{"[principal.a]\nsession = [\"x\"]\n", `line 2: unknown key "principal.a.session"`},
		{"[principal.a]\nauto_apply = \"maybe\"\n", "auto_apply"},
		{"[principal.a]\nopaque = \"perhaps\"\n", "opaque"},
		{"[principal.a.effects]\n\"fs.fly\" = [\"/x\"]\n", `unknown kind "fs.fly"`},
		{"[principal.a.effects]\n\"fs.read\" = [\"src\"]\n", "must start with"},
		{"[principal.a.effects]\n\"fs.read\" = [\"$CWD/**\"]\n", "needs roots"},
		{"[principal.a.effects]\n\"fs.read\" = true\n", "takes a list"},
		{"[principal.a.effects]\n\"fs.read\" = { alow = [] }\n", "unknown key"},
		{"[principal.a.effects]\n\"net.connect\" = [\"github.com\"]\n", "needs a port"},
		{"[principal.a]\nx = = 1\n", "line 2"},
	}
	for _, c := range cases {
		_, err := Parse(c.src)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", c.src, err, c.want)
		}
	}
}

func TestApproveAndHash(t *testing.T) {
	p := mustParse(t, "[principal.local-human]\napprove = [\"self\", \"agent:a\"]\n")
	r := p.For(LocalHuman)
	if !r.MayApprove("uid:1", "uid:1") || !r.MayApprove("uid:1", "agent:a") || r.MayApprove("uid:1", "agent:b") {
		t.Error("approve list is not honoured")
	}
	if r.Hash() == Default().For(LocalHuman).Hash() {
		t.Error("different rules have one hash")
	}
	if r.Hash() != mustParse(t, "[principal.local-human]\napprove = [\"self\", \"agent:a\"]\n").For(LocalHuman).Hash() {
		t.Error("equal rules have different hashes")
	}
}

func FuzzMatchPath(f *testing.F) {
	f.Add("/a/**/b*", "/a/x/y/bc")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern)+len(path) > 4096 {
			t.Skip("long inputs only cost time")
		}
		matchPath(pattern, path)
		if path != "" && path[0] == '/' && !matchPath("/**", path) {
			t.Errorf("/** does not cover %q", path)
		}
	})
}
