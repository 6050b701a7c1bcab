package syntax

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// A pipeline of another shell, said with methods: what failPipe proposes for
// the text round a `|`.

// pipeHint is the Shoal form of the pipeline of which the `|` at pos is one
// joint, or of its kind when its stages are unknown.
func pipeHint(src string, pos int) string {
	left, right := pipeline(src, pos)
	if before := strings.TrimRight(src[max(0, pos-maxHabitLine):pos], " \t"); before != "" && strings.IndexByte("{(,", before[len(before)-1]) >= 0 {
		if params, body, ok := closureText(src[pos:min(len(src), pos+maxHabitLine)]); ok {
			return lambdaForm(params, body)
		}
	}
	if form := closureForm(left, right); form != "" {
		return "chain methods on the value: `" + form + "`"
	}
	if form := methodForm(left, right); form != "" {
		return "chain methods on the value: `" + form + "`"
	}
	text := left + " | " + right
	if left == "" || right == "" || right[0] == '&' || !isIdentStart(left[0]) || strings.ContainsAny(text, "{}") {
		text = "a | b"
	}
	return "chain methods on the value, as in `(a).lines()`, feed a program with `v.feed(b)`, or write `sh { " + text + " }`"
}

// pipeline is the text left and right of the `|` at pos, as far as its line and
// its brackets go. The name that a binding gives to the result is left away.
func pipeline(src string, pos int) (left, right string) {
	from, to := max(0, pos-maxHabitLine), min(len(src), pos+maxHabitLine)
	depth := 0
	start := pos
	for start > from && depth >= 0 {
		switch src[start-1] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			depth--
		case '\n', ';':
			if depth == 0 {
				depth = -1
			}
		}
		if depth >= 0 {
			start--
		}
	}
	depth = 0
	end := pos + 1
	for ; end < to; end++ {
		switch src[end] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\n', ';':
			if depth == 0 {
				depth = -1
			}
		}
		if depth < 0 {
			break
		}
	}
	left, right = strings.TrimSpace(src[start:pos]), strings.TrimSpace(src[pos+1:end])
	for _, word := range []string{"let ", "var ", "return "} {
		rest, ok := strings.CutPrefix(left, word)
		if !ok {
			continue
		}
		if _, value, found := strings.Cut(rest, "="); found && word != "return " {
			rest = value
		}
		left = strings.TrimSpace(rest)
	}
	return left, right
}

// closureText takes `|a, b| body` apart.
func closureText(s string) (params, body string, ok bool) {
	s, ok = strings.CutPrefix(s, "|")
	if !ok {
		return "", "", false
	}
	params, body, ok = strings.Cut(s, "|")
	if !ok {
		return "", "", false
	}
	names := strings.Split(params, ",")
	for i := range names {
		if names[i] = strings.TrimSpace(names[i]); !isName(names[i]) {
			return "", "", false
		}
	}
	params = names[0]
	if len(names) > 1 {
		params = "(" + strings.Join(names, ", ") + ")"
	}
	depth := 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\n', '|':
			return params, "", true
		}
		if depth < 0 {
			return params, strings.TrimSpace(strings.ReplaceAll(body[:i], "$", "")), true
		}
	}
	return params, "", true
}

// closureForm is a filter whose argument is a block with a parameter.
func closureForm(left, right string) string {
	source, _ := sourceForm(left)
	name, block, ok := strings.Cut(right, " ")
	method := map[string]string{
		"each": "map", "map": "map", "where": "where", "filter": "where", "any": "any", "all": "all", "sort-by": "sort_by",
	}[name]
	block, brace := strings.CutPrefix(strings.TrimSpace(block), "{")
	params, body, isClosure := closureText(strings.TrimSpace(block))
	if source == "" || !ok || method == "" || !brace || !isClosure || body == "" {
		return ""
	}
	return source + "." + method + "(" + params + " => " + body + ")"
}

// stageKind is what flows into a stage.
type stageKind uint8

const (
	textStage   stageKind = iota // the output of a program
	linesStage                   // its lines
	rowsStage                    // a list or table
	recordStage                  // a record, as far as one can tell
)

// methodForm is a pipeline as a chain of methods, or "" when a stage has none.
func methodForm(left, right string) string {
	form, kind := sourceForm(left)
	if form == "" {
		return ""
	}
	for _, stage := range strings.Split(right, "|") {
		words := strings.Fields(stage)
		if len(words) == 0 {
			return ""
		}
		make := stages[words[0]]
		if make == nil {
			return ""
		}
		if kind == textStage && lineStages[words[0]] {
			form, kind = form+".lines()", linesStage
		}
		call := make(words[1:], kind)
		if call == "" {
			return ""
		}
		form += call
	}
	return form
}

// sourceForm is the head of a pipeline as a value.
func sourceForm(left string) (string, stageKind) {
	words := strings.Fields(left)
	switch {
	case len(words) == 0 || strings.Contains(left, "|"):
		return "", 0
	case strings.IndexByte("([\"'", left[0]) >= 0 || isDigit(left[0]):
		return left, rowsStage
	case len(words) == 2 && words[0] == "open" && !strings.ContainsAny(words[1], "*?$(\"'"):
		return opened(words[1])
	case len(words) == 2 && words[0] == "cat" && !strings.ContainsAny(words[1], "*?$(\"'"):
		return "path(" + strconv.Quote(words[1]) + ")", textStage
	case words[0] == "ls" || words[0] == "jobs":
		return "(" + left + ")", rowsStage
	case isIdentStart(left[0]) && !strings.Contains(left, "$"):
		return "(" + left + ")", textStage
	}
	return "", 0
}

// opened is a file as the value that "open" gives elsewhere.
func opened(file string) (string, stageKind) {
	form := "path(" + strconv.Quote(file) + ")"
	switch format := strings.TrimPrefix(path.Ext(file), "."); format {
	case "json", "yaml", "toml":
		return format + ".parse(" + form + ".read)", recordStage
	case "csv":
		return format + ".parse(" + form + ".read)", rowsStage
	}
	return form, textStage
}

// lineStages look at the lines of text.
var lineStages = map[string]bool{"grep": true, "wc": true, "head": true, "tail": true, "sort": true, "uniq": true}

// stages are programs and filters that other shells put behind a pipe, with the
// method that does their work; "" for arguments that it does not know.
var stages = map[string]func(args []string, kind stageKind) string{
	"where":    fieldStage(".where(.%s)"),
	"filter":   fieldStage(".where(.%s)"),
	"get":      getStage,
	"sort-by":  nameStage(".sort_by(.%s)"),
	"group-by": nameStage(".group_by(.%s)"),
	"first":    countStage(".first", ""),
	"last":     countStage(".last", ""),
	"take":     countStage(".take", "1"),
	"skip":     countStage(".skip", "1"),
	"length":   plainStage(".len()"),
	"count":    plainStage(".len()"),
	"lines":    plainStage(".lines()"),
	"reverse":  plainStage(".reverse()"),
	"flatten":  plainStage(".flatten()"),
	"uniq":     plainStage(".uniq()"),
	"select":   selectStage,
	"grep":     grepStage,
	"wc":       wcStage,
	"sort":     sortStage,
	"head":     headStage(".first(%s)"),
	"tail":     headStage(".last(%s)"),
	"to":       toStage,
}

func plainStage(call string) func([]string, stageKind) string {
	return func(args []string, _ stageKind) string {
		if len(args) > 0 {
			return ""
		}
		return call
	}
}

func nameStage(format string) func([]string, stageKind) string {
	return func(args []string, _ stageKind) string {
		if len(args) != 1 || !isName(args[0]) {
			return ""
		}
		return fmt.Sprintf(format, args[0])
	}
}

// getStage takes a field, or a column.
func getStage(args []string, kind stageKind) string {
	if kind == recordStage {
		return nameStage(".%s")(args, kind)
	}
	return nameStage(".map(.%s)")(args, kind)
}

// fieldStage is a condition that starts with a field.
func fieldStage(format string) func([]string, stageKind) string {
	return func(args []string, _ stageKind) string {
		if len(args) < 3 || !isName(args[0]) || strings.ContainsAny(strings.Join(args, ""), "${~") {
			return ""
		}
		return fmt.Sprintf(format, strings.Join(args, " "))
	}
}

func countStage(method, missing string) func([]string, stageKind) string {
	return func(args []string, _ stageKind) string {
		n := missing
		if len(args) == 1 {
			n = args[0]
		}
		if _, err := strconv.Atoi(n); len(args) > 1 || n != "" && err != nil {
			return ""
		}
		return method + "(" + n + ")"
	}
}

func selectStage(args []string, _ stageKind) string {
	names := make([]string, len(args))
	for i, a := range args {
		if !isName(a) {
			return ""
		}
		names[i] = strconv.Quote(a)
	}
	return ".select(" + strings.Join(names, ", ") + ")"
}

func grepStage(args []string, kind stageKind) string {
	not := ""
	if len(args) > 1 && args[0] == "-v" {
		not, args = "!", args[1:]
	}
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return ""
	}
	word := strings.Trim(args[0], `"'`)
	if strings.ContainsAny(word, `$\*.[^`) {
		return ""
	}
	item := "x"
	if kind == rowsStage {
		item = "x.name"
	}
	return fmt.Sprintf(".where(x => %s%s.contains(%q))", not, item, word)
}

func wcStage(args []string, _ stageKind) string {
	if len(args) != 1 || args[0] != "-l" {
		return ""
	}
	return ".len()"
}

func sortStage(args []string, kind stageKind) string {
	call := ".sort()"
	if kind == rowsStage {
		call = ".sort_by(.name)"
	}
	switch {
	case len(args) == 0:
		return call
	case len(args) == 1 && args[0] == "-r":
		return call + ".reverse()"
	case len(args) == 1 && args[0] == "-u":
		return call + ".uniq()"
	}
	return ""
}

// headStage is head and tail: `-n N`, `-N`, or ten.
func headStage(format string) func([]string, stageKind) string {
	return func(args []string, _ stageKind) string {
		n := strings.TrimPrefix(strings.TrimPrefix(strings.Join(args, ""), "-n"), "-")
		if n == "" {
			n = "10"
		}
		if _, err := strconv.Atoi(n); err != nil {
			return ""
		}
		return fmt.Sprintf(format, n)
	}
}

func toStage(args []string, _ stageKind) string {
	if len(args) == 1 && args[0] == "json" {
		return ".json()"
	}
	return ""
}
