package builtin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/value"
)

// Reference is the whole table as Markdown, in a fixed order.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Builtins\n")
	b.WriteString("\n## Command heads\n\nHeads marked *S* give an outcome whose `.out` is the value; the others give the value itself.\n\n")
	b.WriteString("| head | | what it does |\n| --- | --- | --- |\n")
	heads := allHeads()
	slices.SortFunc(heads, func(x, y headRow) int { return strings.Compare(x.name, y.name) })
	for _, r := range heads {
		mark := ""
		if r.structured {
			mark = "*S*"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(r.sig), mark, r.doc)
	}
	b.WriteString("\n## Calls and constructors\n\n| call | what it gives |\n| --- | --- |\n")
	functions := allFunctions()
	slices.SortFunc(functions, func(x, y functionRow) int { return strings.Compare(x.sig, y.sig) })
	for _, r := range functions {
		fmt.Fprintf(&b, "| %s | %s |\n", code(r.sig), r.doc)
	}
	referenceMethods(&b)
	referenceNamespaces(&b)
	return b.String()
}

// code is text as code in a table cell.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }

// referenceMethods prints one section for each set of receivers that some row
// names.
func referenceMethods(b *strings.Builder) {
	type line struct{ name, doc string }
	sections := map[string][]line{}
	for _, r := range allMethods() {
		sections[receivers(r.recv)] = append(sections[receivers(r.recv)], line{"." + r.sig, r.doc})
	}
	for _, r := range allFields() {
		sections[receivers(r.recv)] = append(sections[receivers(r.recv)], line{"." + r.name, r.doc})
	}
	for _, title := range slices.Sorted(maps.Keys(sections)) {
		fmt.Fprintf(b, "\n## Methods and fields of %s\n\n| member | what it gives |\n| --- | --- |\n", title)
		lines := sections[title]
		slices.SortFunc(lines, func(x, y line) int { return strings.Compare(x.name, y.name) })
		for _, l := range lines {
			fmt.Fprintf(b, "| %s | %s |\n", code(l.name), l.doc)
		}
	}
}

// receivers names a set of kinds.
func receivers(set accepts) string {
	switch set {
	case anyKind:
		return "every value"
	case sequences:
		return "list, table, range, glob (a bounded stream collects first)"
	case notForwarded:
		return "every value but outcomes and streams"
	}
	var names []string
	for k := value.KindNull; k <= value.KindSecret; k++ {
		if set&(1<<k) != 0 {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, ", ")
}

func referenceNamespaces(b *strings.Builder) {
	spaces := map[string][]memberRow{}
	for _, r := range allMembers() {
		spaces[r.space] = append(spaces[r.space], r)
	}
	for _, space := range slices.Sorted(maps.Keys(spaces)) {
		fmt.Fprintf(b, "\n## Namespace %s\n\n| member | what it gives |\n| --- | --- |\n", space)
		rows := spaces[space]
		slices.SortFunc(rows, func(x, y memberRow) int { return strings.Compare(x.sig, y.sig) })
		for _, r := range rows {
			fmt.Fprintf(b, "| %s | %s |\n", code(space+"."+r.sig), r.doc)
		}
	}
}
