package builtin

import (
	"strings"

	"shoal.dev/shoal/lang/value"
)

// Entry is one name of the table, for those who list or complete names.
type Entry struct {
	Kind      string // head, function, method, field, member or constant
	Space     string // of a member: its namespace
	Name      string
	Signature string
	Text      string

	recv accepts
}

// On reports whether a method or field exists for a kind of value.
func (e Entry) On(k value.Kind) bool { return e.recv&(1<<k) != 0 }

// Entries lists the whole table.
func Entries() []Entry {
	var out []Entry
	for _, r := range allHeads() {
		out = append(out, Entry{Kind: "head", Name: r.name, Signature: r.sig, Text: r.doc})
	}
	for _, r := range allFunctions() {
		out = append(out, Entry{Kind: "function", Name: callName(r.sig), Signature: r.sig, Text: r.doc})
	}
	for _, r := range allMethods() {
		out = append(out, Entry{Kind: "method", Name: callName(r.sig), Signature: r.sig, Text: r.doc, recv: r.recv})
	}
	for _, r := range allFields() {
		out = append(out, Entry{Kind: "field", Name: r.name, Signature: r.name, Text: r.doc, recv: r.recv})
	}
	for _, r := range allMembers() {
		kind := "member"
		if !strings.Contains(r.sig, "(") {
			kind = "constant"
		}
		out = append(out, Entry{Kind: kind, Space: r.space, Name: callName(r.sig), Signature: r.space + "." + r.sig, Text: r.doc})
	}
	return out
}

func callName(sig string) string {
	name, _, _ := strings.Cut(sig, "(")
	return name
}
