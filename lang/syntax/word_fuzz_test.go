package syntax

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzWord reads text as words of a command. Arguments stand in order and apart,
// plain ones are the text that is there, and text that is escaped or quoted is
// itself in the shape that it has.
func FuzzWord(f *testing.F) {
	for _, s := range []string{
		"a b", "./a/b", "~", "~/x", "~x", "../..", "--a=b c", "-rf", "-5", "---", "--", "-", "https://x/?a=b", "*.go", "[a]b", "a[", "]", "a=b",
		"stash@{0}", "{}", `""{}`, "(x){}", "{a,b}", "HEAD~1", "a\\ b", "x#y", "#z", "a\\*b*", "...", "'q'\"r\"s", "é", "re\"x\"", "a(1)b", "--x=(1)y", "\\", "a;b", "&&", "--_x", "a:b://c", "+x://y*",
	} {
		f.Add(s)
	}
	for _, src := range ownSources(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c := commandOf("^cmd " + text); c != nil {
			checkArguments(t, "^cmd "+text, c)
		}
		if text == "" || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\n\r\v\f`") {
			return
		}
		escaped := "^cmd " + escapeWord(text, false)
		c := commandOf(escaped)
		if c == nil || len(c.Args) != 1 || c.Args[0].Text != text || c.Args[0].Kind != shapeOf(text) {
			t.Fatalf("%q, of kind %v, is %q when escaped, which reads as %+v", text, shapeOf(text), escaped, c)
		}
		if a := c.Args[0]; a.Parts != nil && a.Kind != ArgLong {
			t.Fatalf("%q escaped has the pieces %+v", text, a.Parts)
		}
		c = commandOf("^cmd " + quoteString(text))
		if c == nil || len(c.Args) != 1 || c.Args[0].Kind != ArgString || c.Args[0].Text != text {
			t.Fatalf("%q quoted reads as %+v", text, c)
		}
	})
}

// commandOf is the command that src is, or nil if it is something else.
func commandOf(src string) *Command {
	prog, err := Parse(src, Names{})
	if err != nil || len(prog.Stmts) != 1 {
		return nil
	}
	if x, ok := prog.Stmts[0].(*ExprStmt); ok {
		c, _ := x.X.(*Command)
		return c
	}
	return nil
}

func checkArguments(t *testing.T, src string, c *Command) {
	t.Helper()
	at := c.Head.End
	for _, a := range c.Args {
		if a.Start <= at || a.End < a.Start || a.End > len(src) {
			t.Fatalf("%q: an argument at %v follows what ends at %d", src, a.Span, at)
		}
		at = a.End
		text := src[a.Start:a.End]
		bare := a.Kind == ArgWord || a.Kind == ArgPath || a.Kind == ArgGlob || a.Kind == ArgShort || a.Kind == ArgDash || a.Kind == ArgDashDash
		if bare && !strings.ContainsAny(text, "\\\"'()") && a.Text != text {
			t.Fatalf("%q: %q has the text %q", src, text, a.Text)
		}
	}
}

// shapes are the kinds of words without pattern characters; the first that fits.
var shapes = []struct {
	kind ArgKind
	form *regexp.Regexp
}{
	{ArgDashDash, regexp.MustCompile(`^--$`)},
	{ArgDash, regexp.MustCompile(`^-$`)},
	{ArgLong, regexp.MustCompile(`(?s)^--[A-Za-z0-9][A-Za-z0-9._-]*(=.*)?$`)},
	{ArgWord, regexp.MustCompile(`^-[0-9]+$`)},
	{ArgShort, regexp.MustCompile(`^-[A-Za-z0-9]+$`)},
	{ArgWord, regexp.MustCompile(`^-`)},
	{ArgWord, regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_+.-]*://`)},
	{ArgPath, regexp.MustCompile(`^(~/|\./|\.\./|/|~$)`)},
}

// shapeOf is the kind of a word whose pattern characters are escaped.
func shapeOf(text string) ArgKind {
	for _, s := range shapes {
		if s.form.MatchString(text) {
			return s.kind
		}
	}
	return ArgWord
}
