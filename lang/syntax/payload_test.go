package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPayload(t *testing.T) {
	tests := []struct{ src, text, rest string }{
		{"sh { echo a; echo b }", "echo a; echo b", ""},
		{"sh{}", "", ""},
		{"sh'''printf hey'''.out", "printf hey", ".out"},
		{"sh'printf {'", "printf {", ""},
		{"python3 {\n    import json\n    if x:\n      y\n}.out", "import json\nif x:\n  y", ".out"},
		{"sh {\r\n  a\r\n  b\r\n}", "a\nb", ""},
		{"sh { echo '}' \"}\" \\} # }\n }", "echo '}' \"}\" \\} # }", ""},
		{"sh { echo ${x#'}'} $(echo \"}\") \"$(echo '\"}')\" `echo }` }", "echo ${x#'}'} $(echo \"}\") \"$(echo '\"}')\" `echo }`", ""},
		{"sh {\n  cat <<EOF\n  } it's\n  EOF\n  cat <<-'X'\n}\n\tX\n}", "  cat <<EOF\n  } it's\n  EOF\n  cat <<-'X'\n}\n\tX", ""},
		{"sh { echo $((1<<2)) }", "echo $((1<<2))", ""},
		{"sh { cat <<< \"}\" }", "cat <<< \"}\"", ""},
		{"sh { echo $'it\\'s }' $# }", "echo $'it\\'s }' $#", ""},
		{"bash { a() { b; }; a }", "a() { b; }; a", ""},
		{"fish { echo 'it\\'s }' }", "echo 'it\\'s }'", ""},
		{"python { x = '''}''' + \"\"\"\"}\"\"\" # it's }\n }", "x = '''}''' + \"\"\"\"}\"\"\" # it's }", ""},
		{"python { print(f\"{x}\") }", "print(f\"{x}\")", ""},
		{"node { `a${ {b: `}`} }}` + /[}/]'/.source // }\n /* } */ }", "`a${ {b: `}`} }}` + /[}/]'/.source // }\n /* } */", ""},
		{"ruby { \"#{ \"}\" }\" # }\n }", "\"#{ \"}\" }\" # }", ""},
		{"perl { $x = \"}\"; $#a }", "$x = \"}\"; $#a", ""},
		{"php { echo '}'; // }\n # }\n /* } */ }", "echo '}'; // }\n # }\n /* } */", ""},
		{"lua { --[[ } ]] x = [==[ }]] ]==] -- }\n }", "--[[ } ]] x = [==[ }]] ]==] -- }", ""},
		{"Rscript { `}` <- '}' # }\n }", "`}` <- '}' # }", ""},
		{"osascript { say \"}\" -- don't }\n (* } *) }", "say \"}\" -- don't }\n (* } *)", ""},
		{"jq { .a | \"\\(\"}\")}\" # it's }\n }", ".a | \"\\(\"}\")}\" # it's }", ""},
		// The shell scan finds no end in these; the plain one does.
		{"sh { cat <<A\n} ", "cat <<A", " "},
		{"sh { case x in a) echo \"$(case y in b) ;; esac)\" ;; esac }", "case x in a) echo \"$(case y in b) ;; esac)\" ;; esac", ""},
	}
	for _, tt := range tests {
		prog, err := Parse(tt.src, Names{})
		if err != nil {
			t.Errorf("%q: %s", tt.src, err.Msg)
			continue
		}
		var c *Command
		Walk(prog, func(n Node) bool {
			if got, ok := n.(*Command); ok && c == nil {
				c = got
			}
			return true
		})
		if c == nil || c.Interp == nil {
			t.Errorf("%q: no interpreter command in %s", tt.src, dump(prog))
			continue
		}
		if c.Interp.Text != tt.text {
			t.Errorf("%q:\ngot  %q\nwant %q", tt.src, c.Interp.Text, tt.text)
		}
		if rest := tt.src[c.Interp.End:]; rest != tt.rest {
			t.Errorf("%q: left %q, want %q", tt.src, rest, tt.rest)
		}
		checkRoundTrip(t, tt.src, Names{})
	}
}

func TestInterpreterHeads(t *testing.T) {
	checkTrees(t, []tree{
		{"sh \"x\"", "<sh str:x>"}, {"sh -c 'x'", "<sh short:c str:x>"}, {"node.x", "node.x"}, {"sh 'x'", "<sh str:x>"},
		{"^sh { a } > f", `<^sh payload "a" redirect>f>`}, {"A=1 sh { a }", `<A=1 sh payload "a">`}, {"sh { a } &", `<sh payload "a" &>`},
		{"sh { a } && sh { b }", `(&& <sh payload "a"> <sh payload "b">)`}, {"(sh { a }).out", `(paren <sh payload "a">).out`},
		{"if sh { a } { 1 }", `if(<sh payload "a"> {1} -)`}, {"[sh { a }]", `[<sh payload "a">]`}, {"echo sh { a }", `<echo sh block\.{<a>}>`},
		{"gawk { a }", `<gawk block\.{<a>}>`},
	})
}

func TestPayloadKeepsBytes(t *testing.T) {
	text := "a\\b \\\" $x `y` \\\\\n\ttab é \x01"
	prog, err := Parse("sh'''"+text+"'''", Names{})
	if err != nil {
		t.Fatal(err.Msg)
	}
	c := prog.Stmts[0].(*ExprStmt).X.(*Command)
	if c.Interp.Text != strings.TrimSpace(text) {
		t.Errorf("got %q, want %q", c.Interp.Text, text)
	}
}

func TestSpans(t *testing.T) {
	src := "let abc = 1\nrows.where(.a > 10).len(x: y)\ngit log --k=v 'q' > f\nif v { w } else { \"é{z}\" }"
	prog, err := Parse(src, Names{Value: map[string]bool{"v": true, "w": true}})
	if err != nil {
		t.Fatal(err.Msg)
	}
	var got []string
	Walk(prog, func(n Node) bool {
		if _, ok := n.(*Program); !ok {
			got = append(got, strings.TrimPrefix(fmt.Sprintf("%T ", n), "*syntax.")+src[n.Pos().Start:n.Pos().End])
		}
		return true
	})
	want := []string{
		"Let let abc = 1", "Literal 1",
		"ExprStmt rows.where(.a > 10).len(x: y)", "Method rows.where(.a > 10).len(x: y)", "Method rows.where(.a > 10)", "Name rows",
		"Lambda .a > 10", "Binary .a > 10", "Field .a", "Name ", "Literal 10", "Name y",
		"ExprStmt git log --k=v 'q' > f", "Command git log --k=v 'q' > f",
		"ExprStmt if v { w } else { \"é{z}\" }", "If if v { w } else { \"é{z}\" }", "Name v", "Block { w }", "ExprStmt w", "Name w",
		"Block { \"é{z}\" }", "ExprStmt \"é{z}\"", "Interp \"é{z}\"", "Name z",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans differ (-want +got):\n%s", diff)
	}
	c := prog.Stmts[2].(*ExprStmt).X.(*Command)
	if at := c.Args[1].Span; src[at.Start:at.End] != "--k=v" {
		t.Errorf("flag spans %q", src[at.Start:at.End])
	}
	if line, col := LineCol(src, strings.Index(src, "{z}")); line != 4 || col != 21 {
		t.Errorf("hole at %d:%d, want 4:21", line, col)
	}
}

func TestEqual(t *testing.T) {
	parse := func(src string) *Program {
		prog, err := Parse(src, testNames)
		if err != nil {
			t.Fatalf("%q: %s", src, err.Msg)
		}
		return prog
	}
	if !Equal(parse("a  b;c"), parse("a b\n\nc")) {
		t.Error("trees that differ in place only are not equal")
	}
	for _, other := range []string{"a b", "a c; c", "^a b; c", "a b > x; c", "a (b); c", "a \"b\"; c", "a b; v"} {
		if Equal(parse("a b; c"), parse(other)) {
			t.Errorf("%q equals %q", "a b; c", other)
		}
	}
}
