package syntax

import (
	"strings"
	"testing"
)

// program100 is a program of about 100 lines of everyday code.
var program100 = strings.Repeat(`# count what matters
fn report(dir: path, limit: int = 10) {
  let rows = ls src
  rows.where(r => r.size > 1mb && r.type == "file").skip(1)
    .sort_by(.size)
    .map(r => {name: r.name, kb: r.size / 1kb})
    .take(limit)
}
var total = 0
for i in 1..100 {
  if i % 3 == 0 { continue }
  total += i * 2 - 1
}
let out1 = git log --oneline -n 20 --format="%h {total}" && echo done
match total { 0 => "none"; int n if n > 10 => "many: {n}"; _ => "some" }
try { ^false } catch e { echo "failed: {e.code}" }
python3 {
  import json
  print(json.dumps({"k": [1, 2]}))
}
`, 5)

func BenchmarkParse100Lines(b *testing.B) {
	b.SetBytes(int64(len(program100)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(program100, Names{}); err != nil {
			b.Fatal(err.Msg, err.Hint)
		}
	}
}

func BenchmarkParseExpression(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("rows.where(.size > 1mb).len()", Names{}); err != nil {
			b.Fatal(err.Msg)
		}
	}
}

func BenchmarkPrint100Lines(b *testing.B) {
	prog, err := Parse(program100, Names{})
	if err != nil {
		b.Fatal(err.Msg)
	}
	b.ReportAllocs()
	for b.Loop() {
		Print(prog)
	}
}

// BenchmarkHostile reads a megabyte of text made to be read over and over; the
// time per byte of each must stay near that of the others.
func BenchmarkHostile(b *testing.B) {
	const size = 1 << 20
	for _, unit := range []string{
		"(", "[", "{", "\"{", "a(", "a{", "a{b", "x=(", "\\\n", "# c\n", "'", "\"", "\"\"\"", "a.b\n", "a\n\n", "if a {", "sh {((", "sh { <<A\n",
		"node { /[", "a &&\n", "a b=c ", "$", "1..", "-", "!", "a ?? ", "f(x => ", "(a, ", "match x { ", "x catch ", "a\\\n", "let a = ", "fn f() {",
		"#x\nfn f() {}\n", "\"{a}\" ", "*[", "--a=", "re\"", "...(", "=>", ".a", "a\n.b", "1:", "0x", "é", "\\", "lua { [=", "sh { \"$(", "\"{'", "a {}", "(\n", "a #", "x\n#c\n",
	} {
		src := strings.Repeat(unit, size/len(unit))
		b.Run(strings.ReplaceAll(strings.ReplaceAll(unit, "\n", "NL"), "/", "SL"), func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				_, _ = Parse(src, Names{})
			}
		})
	}
}
