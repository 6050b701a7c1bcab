package bus

import (
	"strings"

	"shoal.dev/shoal/messages"
)

// Subject is the NATS subject of a channel: "shoal.ID.kernel.journal",
// "shoal.ID.s.SESSION.task.9". Different channels have different subjects, and
// no name can leave its place: every byte but letters, digits, "_" and "-" is
// written as %XX, and the free part of "user." and "shared." names, like the
// name of a session, is one token. An empty token is a lone "%".
func Subject(kernelID string, key messages.ChannelKey) string {
	var b strings.Builder
	b.WriteString(subjectPrefix(kernelID))
	switch {
	case key.Session != "":
		b.WriteString("s.")
		token(&b, string(key.Session))
		b.WriteByte('.')
	case !messages.KernelWide(key.Name):
		b.WriteString("x.") // belongs to nobody; kept apart from everything
	}
	rest := key.Name
	for _, free := range []string{"user.", "shared."} {
		if name, ok := strings.CutPrefix(rest, free); ok {
			b.WriteString(free)
			token(&b, name)
			return b.String()
		}
	}
	for i, part := range strings.Split(rest, ".") {
		if i > 0 {
			b.WriteByte('.')
		}
		token(&b, part)
	}
	return b.String()
}

// subjectPrefix is where all subjects of a kernel begin.
func subjectPrefix(kernelID string) string {
	var b strings.Builder
	b.WriteString("shoal.")
	token(&b, kernelID)
	b.WriteByte('.')
	return b.String()
}

func token(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	if s == "" {
		b.WriteByte('%')
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
}
