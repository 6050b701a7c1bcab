package builtin

import (
	"fmt"
	"strings"
)

// Help is what the table says about a name: a head, a call, a method or field,
// a namespace, or a member of one. It is false for names that the table does
// not have.
func Help(name string) (string, bool) {
	var b strings.Builder
	entry := func(sig, note, doc string) { fmt.Fprintf(&b, "%s%s\n    %s\n", sig, note, doc) }
	for _, e := range Entries() {
		member := e.Space != "" && (e.Space == name || e.Space+"."+e.Name == name)
		if e.Name != name && !member || e.Space != "" && !member {
			continue
		}
		switch e.Kind {
		case "method":
			entry("."+e.Signature, "   on "+receivers(e.recv), e.Text)
		case "field":
			entry("."+e.Signature, "   of "+receivers(e.recv), e.Text)
		default:
			entry(e.Signature, outcomeNote(e), e.Text)
		}
	}
	return b.String(), b.Len() > 0
}

func outcomeNote(e Entry) string {
	for _, r := range allHeads() {
		if e.Kind == "head" && r.name == e.Name && r.structured {
			return "   (an outcome; its .out is the value)"
		}
	}
	return ""
}
