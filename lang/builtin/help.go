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
	for _, r := range allHeads() {
		if r.name == name {
			note := ""
			if r.structured {
				note = "   (an outcome; its .out is the value)"
			}
			entry(r.sig, note, r.doc)
		}
	}
	for _, r := range allFunctions() {
		if parseSignature(r.sig).name == name {
			entry(r.sig, "", r.doc)
		}
	}
	for _, r := range allMethods() {
		if parseSignature(r.sig).name == name {
			entry("."+r.sig, "   on "+receivers(r.recv), r.doc)
		}
	}
	for _, r := range allFields() {
		if r.name == name {
			entry("."+r.name, "   of "+receivers(r.recv), r.doc)
		}
	}
	for _, r := range allMembers() {
		member, _, _ := strings.Cut(r.sig, "(")
		if r.space == name || r.space+"."+member == name {
			entry(r.space+"."+r.sig, "", r.doc)
		}
	}
	return b.String(), b.Len() > 0
}
