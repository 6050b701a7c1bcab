package bus

import (
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
)

func TestSubject(t *testing.T) {
	for _, c := range []struct{ session, name, want string }{
		{"default", "journal", "shoal.k.s.default.journal"},
		{"default", "task.9", "shoal.k.s.default.task.9"},
		{"default", "task.9.output", "shoal.k.s.default.task.9.output"},
		{"default", "session.transcript", "shoal.k.s.default.session.transcript"},
		{"", "kernel", "shoal.k.kernel"},
		{"", "kernel.journal", "shoal.k.kernel.journal"},
		{"", "shared.a.b", "shoal.k.shared.a%2Eb"},
		{"a.b", "user.x.y", "shoal.k.s.a%2Eb.user.x%2Ey"},
		{"a", "user.*", "shoal.k.s.a.user.%2A"},
		{"a", "user.>", "shoal.k.s.a.user.%3E"},
		{"a", "user. \t\r\n", "shoal.k.s.a.user.%20%09%0D%0A"},
		{"a", "user.", "shoal.k.s.a.user.%"},
		{"a", "user.%", "shoal.k.s.a.user.%25"},
		{"a", "user.é", "shoal.k.s.a.user.%C3%A9"},
		{"*", "journal", "shoal.k.s.%2A.journal"},
		{"", "s.default.journal", "shoal.k.x.s.default.journal"},
		{"", "", "shoal.k.x.%"},
	} {
		if got := Subject("k", messages.ChannelKey{Session: messages.SessionName(c.session), Name: c.name}); got != c.want {
			t.Errorf("%q %q: %s, want %s", c.session, c.name, got, c.want)
		}
	}
}

func FuzzSubject(f *testing.F) {
	f.Add("k", "s", "user.a.b", "s", "user.a")
	f.Add("k.>", "", "kernel", "s.kernel", "x")
	f.Add("", "a", "..", "a", ".")
	f.Fuzz(func(t *testing.T, id, s1, n1, s2, n2 string) {
		a := messages.ChannelKey{Session: messages.SessionName(s1), Name: n1}
		b := messages.ChannelKey{Session: messages.SessionName(s2), Name: n2}
		x, y := Subject(id, a), Subject(id, b)
		if x == y && a != b {
			t.Errorf("%q and %q share %s", a, b, x)
		}
		for i, token := range strings.Split(x, ".") {
			if token == "" || strings.ContainsAny(token, "*> \t\r\n\x00") {
				t.Errorf("token %d of %q is not safe", i, x)
			}
		}
		if parts := strings.SplitN(x, ".", 4); s1 != "" && (len(parts) != 4 || parts[2] != "s") {
			t.Errorf("%q has left its session", x)
		}
	})
}
