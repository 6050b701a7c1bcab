package screen

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	inputs := []struct{ name, text string }{
		{"seq", strings.Repeat("12345\r\n", 5000)},
		{"text", strings.Repeat(strings.Repeat("some words and more ", 4)[:79]+"\r\n", 1000)},
		{"colour", strings.Repeat("\x1b[31mred\x1b[0m \x1b[1mbold\x1b[m text\r\n", 1000)},
		{"cjk", strings.Repeat("世界你好", 2000)},
		{"vim", strings.Repeat("\x1b[5;10H\x1b[K some text here\x1b[20;3H\x1b[7mstatus\x1b[0m", 500)},
	}
	for name, engine := range engines {
		for _, in := range inputs {
			b.Run(name+"/"+in.name, func(b *testing.B) {
				s := engine(80, 24, DefaultScrollback)
				b.SetBytes(int64(len(in.text)))
				b.ReportAllocs()
				for b.Loop() {
					s.Write([]byte(in.text))
				}
			})
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for name, engine := range engines {
		b.Run(name, func(b *testing.B) {
			s := engine(200, 50, 0)
			i := 0
			for b.Loop() {
				i++
				s.Write(fmt.Appendf(nil, "\x1b[1;1H%d%s", i, strings.Repeat("some words and more ", 500)))
				s.Snapshot()
			}
		})
	}
}
