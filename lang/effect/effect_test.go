package effect

import (
	"encoding/json"
	"testing"
)

func TestKindSpellings(t *testing.T) {
	if n := len(Kinds()); n != 13 {
		t.Errorf("got %d kinds, want 13", n)
	}
	seen := make(map[string]bool)
	for _, k := range Kinds() {
		if seen[k.String()] {
			t.Errorf("%s stands twice", k)
		}
		seen[k.String()] = true
		for _, s := range []string{k.String(), k.Dotted()} {
			if got, ok := ParseKind(s); !ok || got != k {
				t.Errorf("%s reads as %v, %v", s, got, ok)
			}
		}
		b, err := json.Marshal(k)
		var back Kind
		if err != nil || json.Unmarshal(b, &back) != nil || back != k {
			t.Errorf("%s becomes %s and %v", k, b, back)
		}
	}
	for _, s := range []string{"", "fs", "fs.fly", "fs..read", "FS_READ", "effect(0)"} {
		if k, ok := ParseKind(s); ok {
			t.Errorf("%q reads as %s", s, k)
		}
	}
	var k Kind
	if err := json.Unmarshal([]byte(`"fly"`), &k); err == nil {
		t.Error("an unknown kind unmarshals")
	}
}

func TestTargets(t *testing.T) {
	cases := []struct {
		e    Effect
		want string
	}{
		{Effect{Kind: FSDelete, Path: "/tmp/x"}, "fs.delete(/tmp/x)"},
		{Effect{Kind: NetConnect, Host: "h", Port: "443"}, "net.connect(h:443)"},
		{Effect{Kind: NetListen, Host: Any}, "net.listen(*)"},
		{Effect{Kind: ProcSpawn, Argv0: "git"}, "proc.spawn(git)"},
		{Effect{Kind: EnvWrite, Name: "A"}, "env.write(A)"},
		{Effect{Kind: SecretUse, Name: "K"}, "secret.use(K)"},
		{Effect{Kind: Time}, "time()"},
		{Effect{Kind: Opaque, Why: "sh"}, "opaque(sh)"},
	}
	for _, c := range cases {
		if got := c.e.String(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	a := Effect{Kind: FSRead, Path: "/a", Span: &Span{1, 2}, Origin: "cat"}
	if !a.Same(Effect{Kind: FSRead, Path: "/a"}) || a.Same(Effect{Kind: FSWrite, Path: "/a"}) || a.Same(Effect{Kind: FSRead, Path: "/b"}) {
		t.Error("sameness looks at more or less than kind and target")
	}
}

func TestEffectJSON(t *testing.T) {
	b, err := json.Marshal(Effect{Kind: FSWrite, Path: "/a", Span: &Span{1, 2}})
	if want := `{"kind":"fs_write","path":"/a","span":{"start":1,"end":2}}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
	var e Effect
	if err := json.Unmarshal([]byte(`{"kind":"fs.write","path":"/a"}`), &e); err != nil || e.Kind != FSWrite {
		t.Errorf("got %v, %v", e, err)
	}
}
