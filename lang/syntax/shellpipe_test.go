package syntax

import "testing"

func TestMaskedStage(t *testing.T) {
	for payload, want := range map[string]string{
		"(echo '2 failed'; exit 3) | tail -1":           "(echo '2 failed'; exit 3) < tail",
		"make 2>&1 | tail -5":                           "make 2>&1 < tail",
		"cd x && CC=gcc make -j2 |& tee log; echo done": "CC=gcc make -j2 < tee",
		"cat f | ./check --all | /usr/bin/head -1":      "./check --all < head",
		"{ echo a; pytest; } | tail":                    "{ echo a; pytest; } < tail",
		"for i in 1 2; do make $i | tail -1; done":      "do make $i < tail",
		"cat <<EOF\na | b\nEOF\nnpm test | grep -c ok":  "npm test < grep",
		"echo 'a | b' \"c | $(make | tail)\" | cat":     "",
		"ps aux | grep x | wc -l":                       "",
		"git log --oneline | head -3":                   "",
		"git push 2>&1 | tail -3":                       "git push 2>&1 < tail",
		"for f in *; do echo $f; done | sort":           "",
		"if make | grep -q ok; then echo y; fi":         "",
		"set -o pipefail; make | tail":                  "",
		"make | tail; echo ${PIPESTATUS[0]}":            "",
		"make || true":                                  "",
		"make > out 2>&1 && tail out":                   "",
		"make >| out":                                   "",
		"echo $((1 | 2))":                               "",
		"case $x in a|b) echo;; esac":                   "",
		"# make | tail":                                 "",
		"true | true; { echo in; }; echo \"PID=$$\"":    "",
		"echo } | cat":                                  "",
		"make |\n  tail -1":                             "make < tail",
		"make \\\n  | tail -1":                          "make \\ < tail",
		"|":                                             "", "a |": "", "| b": "", "": "", "| |& ||": "",
		"sleep 1 & make | tail":   "make < tail",
		"time make | tail":        "time make < tail",
		"(cd sub && make) | tail": "(cd sub && make) < tail",
		"(cd sub && ls) | tail":   "",
	} {
		got := ""
		if stage, last, ok := MaskedStage("sh", payload); ok {
			got = stage + " < " + last
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", payload, got, want)
		}
	}
	if _, _, ok := MaskedStage("python3", "make | tail"); ok {
		t.Error("python3 is no shell")
	}
}
