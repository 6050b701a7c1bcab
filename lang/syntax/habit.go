package syntax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A parse error says what the parser wanted. Whoever comes from another shell
// or language needs to hear more: which of their habits it was, and what it is
// called here. The rows below know habits by the text round the error; they are
// looked at only after parsing has failed.

// habit is a spelling of another language.
type habit struct {
	pattern string // of the line, round the place of the error
	name    string // added to the message, unless that names the habit itself
	hint    string // the form here; $1 … are the pattern's groups
	// form makes the hint where it takes more than putting in groups; "" means
	// that the row does not apply after all.
	form func(groups []string) string

	re *regexp.Regexp
}

// maxHabitLine is how long a line can be, in bytes, for habits to be looked for.
// It bounds what an error costs, which comes with each key while somebody types.
const maxHabitLine = 400

var compiledHabits = sync.OnceValue(func() []habit {
	for i := range habits {
		habits[i].re = regexp.MustCompile(habits[i].pattern)
	}
	return habits
})

const (
	identPattern   = `[A-Za-z_]\w*`
	operandPattern = `((?:[\w.]|\([^()]*\))+|"[^"]*"|'[^']*')`
)

var habits = []habit{
	// Conditions and loops.
	{pattern: `\b(?:if|while|until|elif)\s+(?:\[\[?|test)\s+(!\s+)?-([a-z])\s+([^\s;\]]+)\s*\]*\s*;?\s*(?:then|do)?`, form: fileTest},
	{pattern: `\[\[?\s+(!\s+)?-([a-z])\s+([^\s;\]]+)\s*\]`, name: "`[ … ]` is a list here, not a test", form: fileTest},
	{pattern: `\[\[?\s+(\S+)\s+(=|==|!=|-eq|-ne|-lt|-le|-gt|-ge)\s+(\S+)\s+\]*\s*;?\s*(?:then|do)?`, form: comparison},
	{pattern: `\b(if|while)\s+\(\(\s*(.+?)\s*\)\)\s*;?\s*(?:then|do)?`, hint: "`$1 $2 { … }`"},
	{pattern: `\bwhile\s+(?:IFS=\S*\s+)?read\s+(?:-r\s+)?(` + identPattern + `).*`, hint: "`for $1 in path(\"file\").lines() { … }`"},
	{pattern: `\b(if|while)\s+([^\[;{]+?)\s*;?\s*\b(?:then|do)\b`, hint: "`$1 $2 { … }`"},
	{pattern: `\bfor\s+(` + identPattern + `)\s+in\s+\$\(\s*seq\s+(\d+)\s*\)`, hint: "`for $1 in 1..=$2 { … }`"},
	{pattern: `\bfor\s+(` + identPattern + `)\s+in\s+\$\(\s*seq\s+(\d+)\s+(\d+)\s*\)`, hint: "`for $1 in $2..=$3 { … }`"},
	{pattern: `\bfor\s+(` + identPattern + `)\s+in\s+\{(-?\d+)\.\.(-?\d+)\}`, hint: "`for $1 in $2..=$3 { … }`"},
	{pattern: `\bfor\s+(` + identPattern + `)\s+in\s+([\w./-]*[*?][\w./*?-]*)`, hint: "`for $1 in glob(\"$2\") { … }`"},
	{pattern: `\bfor\s+(` + identPattern + `)\s+in((?:\s+[\w./-]+){2,})\s*(?:;.*|do\b.*|\{.*)?$`, form: wordLoop},
	{pattern: `\bfor\s+(` + identPattern + `)\s+of\s+([^{]+?)\s*\{`, name: "a loop is `for … in`", hint: "`for $1 in $2 { … }`"},
	{pattern: `\bfor\s*\(+[^{]*`, name: "shoal has no `for (…)`", hint: "`for i in 0..3 { … }`, or `while cond { … }`"},
	{pattern: `\b(if|while|elif|for\s+` + identPattern + `\s+in)\s+([^{]+?):(?:\s.*)?$`, name: "a block is `{ … }`", hint: "`$1 $2 { … }`"},
	{pattern: `\belse\s*:`, name: "a block is `{ … }`", hint: "`else { … }`"},
	{pattern: `\b(if|while)\s*(\([^{}]*\))\s*[^{\s]`, name: "a block is `{ … }`", hint: "`$1 $2 { … }`"},
	{pattern: `\buntil\s+([^;{]+?)\s*;?\s*do\b`, hint: "`while !($1) { … }`"},
	{pattern: `\b(?:elsif|elseif)\b`, name: "`elsif` is not shoal syntax", hint: "`else if cond { … }`"},
	{pattern: operandPattern + `\s+is\s+not\s+(?:None|null|nil)`, name: "use `!=`", hint: "`$1 != null`"},
	{pattern: operandPattern + `\s+is\s+(?:None|null|nil)`, name: "use `==`", hint: "`$1 == null`"},
	{pattern: `\bif\s+([^{=]+?)\s+=\s+([^{=]+?)\s*\{`, name: "`=` assigns", hint: "`if $1 == $2 { … }`"},
	{pattern: `(?:=|\breturn|\()\s*([^=(]+?)\s+if\s+(.+?)\s+else\s+([^);]+)`, name: "`if` comes first", hint: "`if $2 { $1 } else { $3 }`"},
	{pattern: `^\s*(?:(?:let|var)\s+\w+\s*=|return\b|\w+\s*=\s)?\s*([^?]+?)\s*\?\s*([^:?]+?)\s*:\s*([^;]+)`, name: "shoal has no `? :`", hint: "`if $1 { $2 } else { $3 }`"},
	{pattern: `\bcatch\s*\(\s*(` + identPattern + `)\s*\)`, name: "the name stands alone", hint: "`catch $1 { … }`"},
	{pattern: `\b(?:except|finally|rescue)\b`, name: "`try` has one `catch`", hint: "`try { … } catch e { … }`"},

	// Functions and lambdas.
	{pattern: `\bfn\s+(` + identPattern + `)\s*\(([^)]*)\)\s*:\s*([\w<>]+)\s*\{`, name: "a result type follows `->`", hint: "`fn $1($2) -> $3 { … }`"},
	{pattern: `\bfn\s+(` + identPattern + `)\s*\(([^)]*)\)\s*=>?\s*([^;{]+)`, name: "a function body is a block", hint: "`fn $1($2) { $3 }`"},
	{pattern: `\bfn\s+(` + identPattern + `)((?:\s+` + identPattern + `)*)\s*\{`, name: "parameters stand in parentheses", form: bareParameters},
	{pattern: `\blambda\s+(` + identPattern + `)\s*:\s*([^)]+)`, name: "shoal has no `lambda`", hint: "`$1 => $2`"},
	{pattern: `\blambda\s+(` + identPattern + `(?:\s*,\s*` + identPattern + `)+)\s*:\s*([^)]+)`, name: "shoal has no `lambda`", hint: "`($1) => $2`"},
	{pattern: `[(,]\s*\\?(` + identPattern + `|\([^()]*\))\s*->\s*([^)]+)`, name: "a lambda has `=>`", hint: "`$1 => $2`"},
	{pattern: `\((` + identPattern + `\s*=[^()]*)\)\s*=>`, name: "lambda parameters take no defaults", hint: "`fn f($1) { … }`"},
	{pattern: `\bmatch\b.*?(\S+)\s*(?:->|:)\s*([^;,}]*[^;,}\s])`, name: "an arm has `=>`", hint: "`$1 => $2`"},
	{pattern: `\[(.+?)\s+for\s+(` + identPattern + `)\s+in\s+(.+?)\s+if\s+(.+)\]`, name: "shoal has no comprehensions", hint: "`($3).where($2 => $4).map($2 => $1)`"},
	{pattern: `\[(.+?)\s+for\s+(` + identPattern + `)\s+in\s+(.+)\]`, name: "shoal has no comprehensions", hint: "`($3).map($2 => $1)`"},

	// Names and values.
	{pattern: `\blet-env\s+(` + identPattern + `)\s*=\s*([^"'].*)`, name: "the environment is `env`", hint: "`env.$1 = \"$2\"`"},
	{pattern: `\blet-env\s+(` + identPattern + `)\s*=\s*(.+)`, name: "the environment is `env`", hint: "`env.$1 = $2`"},
	{pattern: `\blet\s+mut\s+(` + identPattern + `)`, name: "`var` makes what can change", hint: "`var $1 = …`"},
	{pattern: `\b(let|var)\s+(` + identPattern + `)\s*(?::\s*\w+\s*)?:=\s*(.+)`, name: "shoal has no `:=`", hint: "`$1 $2 = $3`"},
	{pattern: `\b(let|var)\s+(` + identPattern + `)\s+([^=\s].*)`, hint: "`$1 $2 = $3`"},
	{pattern: `\balias\s+(` + identPattern + `)\s*=\s*'([^']*)'`, hint: "an alias is a command, not a string: `alias $1 = $2`"},
	{pattern: `\balias\s+(` + identPattern + `)\s*=\s*"([^"]*)"`, hint: "an alias is a command, not a string: `alias $1 = $2`"},
	{pattern: `\balias\s+(` + identPattern + `)\s+([^=\s].*)`, hint: "`alias $1 = $2`"},
	{pattern: `\bexport\s+(` + identPattern + `)=(["'][^"']*["'])`, hint: "for the environment write `env.$1 = $2`"},
	{pattern: `\bexport\s+(` + identPattern + `)=([^\s"';$]+)`, hint: "for the environment write `env.$1 = \"$2\"`"},
	{pattern: `\[\s*(-?\d*)\s*:\s*(-?\d*)\s*\]`, name: "shoal has no slices", form: sliceForm},
	{pattern: `(?:^|[=(,\s])f("[^"]*")`, name: "shoal has no `f\"…\"`", hint: "every double-quoted string has holes: `$1`"},
	{pattern: `(?:^|[=(,\s])r["']([^"']*)["']`, name: "shoal has no `r\"…\"`", hint: "single quotes take everything as it stands: `'$1'`; a pattern is `re\"$1\"`"},
	{pattern: `(?:^|[=(,\s])[bu]("[^"]*")`, name: "strings have no such prefix", hint: "`$1`"},
	{pattern: "[‘’“”]", name: "a typographic quote", hint: "use plain quotes: `\"text\"` or `'text'`"},
	{pattern: `\b(\d{1,2}):(\d)\b`, name: "minutes have two digits", hint: "`$1:0$2`"},
	{pattern: `\b\d{1,2}:\d\d[ap]m`, name: "a 12-hour time runs from 1:00 to 12:59", hint: "`1:00pm`, or `13:00`"},

	// Operators.
	{pattern: `(` + identPattern + `)\s*\+\+`, name: "shoal has no `++`", hint: "`$1 += 1`"},
	{pattern: `\+\+\s*(` + identPattern + `)`, name: "shoal has no `++`", hint: "`$1 += 1`"},
	{pattern: `(` + identPattern + `)\s*--\s*;?\s*$`, name: "shoal has no `--`", hint: "`$1 -= 1`"},
	{pattern: operandPattern + `\s*\*\*=?\s*` + operandPattern, name: "shoal has no `**`", hint: "`math.pow($1, $2)`"},
	{pattern: `(?:\b(?:if|while|in|match|return)|[(,=])\s*\^`, hint: "put the command in parentheses: `(^name …)`"},
	{pattern: operandPattern + `\s*\^\s*` + operandPattern, name: "`^` starts a command", hint: "`math.pow($1, $2)`"},
	{pattern: operandPattern + `\s*//\s*` + operandPattern, name: "shoal has no `//`", hint: "`$1 / $2` divides ints without remainder; a comment starts with `#`"},
	{pattern: operandPattern + `\s+mod\s+` + operandPattern, name: "use `%`", hint: "`$1 % $2`"},
	{pattern: operandPattern + `\s*<>\s*` + operandPattern, name: "use `!=`", hint: "`$1 != $2`"},
	{pattern: operandPattern + `\s*!==\s*` + operandPattern, name: "use `!=`", hint: "`$1 != $2`"},
	{pattern: operandPattern + `\s*===\s*` + operandPattern, name: "use `==`", hint: "`$1 == $2`"},
	{pattern: operandPattern + `\s*(?:=~|~=|~)\s*(?:re|r)?["']([^"']*)["']`, name: "shoal has no `=~`", hint: "`$1.match(re\"$2\") != null`"},
	{pattern: operandPattern + `\s*!~\s*(?:re|r)?["']([^"']*)["']`, name: "shoal has no `!~`", hint: "`$1.match(re\"$2\") == null`"},

	// Commands.
	{pattern: `^\s*\.\s+(\S+)`, name: "a file is read with `source`", hint: "`source $1`"},
	{pattern: `^\s*\.\.\s*$`, hint: "`cd ..`"},
	{pattern: `^\s*([^<]*?\S)\s*<<<\s*("[^"]*"|'[^']*')`, hint: "feed the text: `$2.feed($1)`"},
	{pattern: `^\s*([^<]*?\S)\s*<<-?\s*['"]?\w+`, hint: "feed the text: `\"\"\"…\"\"\".feed($1)`; here-documents work inside `sh { … }`"},
	{pattern: `\(\s*it\.(` + identPattern + `)`, hint: "`.$1` is the field of each item; or name the item: `x => x.$1`"},
	{pattern: `^\s*(` + identPattern + `(?:\s+[\w./-]+)*?)\s+where\s+(` + identPattern + `\s*[<>]=?\s*[\w."']+)`, hint: "`($1).where(.$2)`"},
	{pattern: `^\s*where\s+(` + identPattern + `\s*[<>]=?\s*[\w."']+)`, hint: "`(ls).where(.$1)`"},
	{pattern: `^\s*<\s*([\w./-]+)\s*$`, name: "a redirect needs a command", hint: "`path(\"$1\").read`"},
	{pattern: `^\s*:?\s*>>?\s*([\w./-]+)\s*$`, name: "a redirect needs a command", hint: "`save(\"$1\", \"\")` writes an empty file"},
	{pattern: `^\s*(.*?\S)\s*(?:[12]?>\s*\S+\s+)?\d>(?:&\d|>?\s*\S+).*$`, form: shellLine},
	{pattern: `\.\.\.(\[[^\]]*\])`, hint: "`...($1)` spreads into the arguments of a command; lists join with `+`"},
	{pattern: `'(\w+)'(?:'(\w+)'|(\w+.*))$`, form: quotedApostrophe},
}

// teach adds the habit behind an error, and a way on where nothing else knows
// one.
func (p *parser) teach(e *Error) *Error {
	text, at := p.lineAround(e)
	if len(text) <= maxHabitLine {
		for _, h := range compiledHabits() {
			if h.apply(text, at, e) {
				break
			}
		}
	}
	if e.Hint == "" {
		e.Hint = wayOn(e)
	}
	return e
}

// lineAround is the line of an error and the place of the error in it. A shell
// keyword belongs to the line before it.
func (p *parser) lineAround(e *Error) (text string, at int) {
	start := strings.LastIndexByte(p.full[:min(e.Start, len(p.full))], '\n') + 1
	if start > 0 && strings.HasSuffix(e.Msg, "is not shoal syntax") {
		start = strings.LastIndexByte(p.full[:start-1], '\n') + 1
	}
	end := strings.IndexByte(p.full[min(e.Start, len(p.full)):], '\n')
	if end < 0 {
		end = len(p.full)
	} else {
		end += e.Start
	}
	return p.full[start:end], e.Start - start
}

// apply makes e teach the habit if it stands at the place of the error.
func (h *habit) apply(text string, at int, e *Error) bool {
	for _, m := range h.re.FindAllStringSubmatchIndex(text, 8) {
		if at < m[0] || at > m[1] {
			continue
		}
		hint := string(h.re.ExpandString(nil, h.hint, text, m))
		if h.form != nil {
			groups := make([]string, len(m)/2)
			for i := range groups {
				if m[2*i] >= 0 {
					groups[i] = text[m[2*i]:m[2*i+1]]
				}
			}
			hint = h.form(groups)
		}
		if hint == "" {
			continue
		}
		if h.name != "" && !strings.Contains(e.Msg, h.name) {
			e.Msg += ": " + h.name
		}
		e.Hint = hint
		return true
	}
	return false
}

// fileTests are the fields that answer what `test` asks of a file.
var fileTests = map[string]string{
	"f": "is_file", "d": "is_dir", "e": "exists", "s": "exists", "r": "exists", "w": "exists", "x": "exists", "L": "exists",
}

// fileTest is `[ -f x ]` as an expression.
func fileTest(g []string) string {
	not, letter, subject := strings.TrimSpace(g[1]), g[2], strings.Trim(g[3], `"'`)
	if letter == "z" || letter == "n" {
		if (letter == "n") == (not == "") {
			not = "!"
		} else {
			not = ""
		}
		return "`if " + not + strings.Trim(subject, "${}") + ".is_empty() { … }`"
	}
	field := fileTests[letter]
	if field == "" {
		return ""
	}
	return fmt.Sprintf("`if %spath(%q).%s { … }`; conditions are expressions", not, subject, field)
}

// comparison is `[ a = b ]` as an expression.
func comparison(g []string) string {
	op := map[string]string{
		"=": "==", "==": "==", "!=": "!=", "-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">=",
	}[g[2]]
	side := func(s string) string {
		return strings.Trim(strings.Trim(s, `"`), "${}")
	}
	left, right := side(g[1]), g[3]
	if strings.Contains(right, "$") {
		right = side(right)
	}
	return "`if " + left + " " + op + " " + right + " { … }`; conditions are expressions"
}

// wordLoop is `for x in a b c` over a list.
func wordLoop(g []string) string {
	var items []string
	for _, w := range strings.Fields(g[2]) {
		if w == "do" {
			continue
		}
		if _, err := strconv.Atoi(w); err != nil {
			w = strconv.Quote(w)
		}
		items = append(items, w)
	}
	return "`for " + g[1] + " in [" + strings.Join(items, ", ") + "] { … }`; a command in the head needs parentheses"
}

// bareParameters is `fn f a b {` with its parentheses.
func bareParameters(g []string) string {
	return "`fn " + g[1] + "(" + strings.Join(strings.Fields(g[2]), ", ") + ") { … }`"
}

func lambdaForm(params, body string) string {
	if body = strings.TrimSpace(body); body == "" {
		body = "…"
	}
	return "a function value is a lambda: `" + params + " => " + body + "`"
}

// sliceForm is `[a:b]` as methods.
func sliceForm(g []string) string {
	from, errFrom := strconv.Atoi(g[1])
	to, errTo := strconv.Atoi(g[2])
	switch {
	case errFrom == nil && errTo == nil && 0 <= from && from <= to:
		if from == 0 {
			return fmt.Sprintf("`.take(%d)`", to)
		}
		return fmt.Sprintf("`.skip(%d).take(%d)`", from, to-from)
	case errFrom == nil && from >= 0 && g[2] == "":
		return fmt.Sprintf("`.skip(%d)`", from)
	case errFrom == nil && g[2] == "":
		return fmt.Sprintf("`.last(%d)`", -from)
	case errTo == nil && to >= 0 && g[1] == "":
		return fmt.Sprintf("`.take(%d)`", to)
	}
	return "`.skip(n).take(m)`"
}

// shellLine is a command with redirects of numbered descriptors, left to sh.
func shellLine(g []string) string {
	if strings.ContainsAny(g[0], "{}") {
		return ""
	}
	return "a result keeps both streams: `(cmd).stdout`, `(cmd).stderr`; or write `sh { " + strings.TrimSpace(g[0]) + " }`"
}

// quotedApostrophe is 'it's' with quotes that can hold it.
func quotedApostrophe(g []string) string {
	text, _, _ := strings.Cut(g[2]+g[3], "'")
	return "a `'` ends '…': write `\"" + g[1] + "'" + text + "\"`"
}

// wayOn is the hint of an error that nothing else explains.
func wayOn(e *Error) string {
	for _, w := range waysOn {
		if strings.HasPrefix(e.Msg, w.msg) {
			return w.hint
		}
	}
	return "put text in quotes: \"…\", and a command in parentheses: `(cmd …)`"
}

// waysOn are hints by what a message starts with, the longest first.
var waysOn = []struct{ msg, hint string }{
	{"expected newline or ;", "end a statement with a newline or `;`; a command's argument that is no word needs parentheses: `cmd (value)`"},
	{"unterminated raw string", "close it with `'`, or `'''` for text of several lines"},
	{"unterminated string (newline)", "use \"\"\"…\"\"\" or '''…''' for text of several lines"},
	{"unterminated string", "close it with `\"`; inside a string write `\\\"`"},
	{"unexpected end after", "a `\\` at the end of a line joins the next one to it"},
	{"expected expression, found RParen", "write a value in the parentheses, or leave them away; a command's result is `(cmd)`"},
	{"expected expression, found Eof", "the source ends too early: write the value that is missing"},
	{"expected expression, found Plus", "an operator stands at the end of a line to continue it on the next"},
	{"expected expression, found DotDot", "the directory above is `../`; a command is `cd ..`; a range has two ends: `0..3`"},
	{"expected expression, found Star", "a file pattern is a value: `glob(\"*.txt\")`"},
	{"expected expression", "write a value: a literal, a name, or a command in parentheses `(cmd …)`"},
	{"expected a block", "write `if cond { … }`, `while cond { … }`, `for x in xs { … }`, `fn f(x) { … }`"},
	{"expected `}`", "every `{` needs its `}`"},
	{"expected `,` or `]`", "separate the items with commas: `[1, 2]`"},
	{"expected `,` or `}`", "separate the fields with commas: `{a: 1, b: 2}`"},
	{"expected `,` or `)`", "separate them with commas; a command needs parentheses: `(cmd …)`"},
	{"expected `)`", "close the parenthesis after one expression"},
	{"expected `]`", "an index is one value: `xs[0]`; a part of a list is `.skip(n).take(m)`"},
	{"expected `>`", "a type is a name with types in angles: `list<int>`"},
	{"expected `(`", "parameters stand in parentheses: `fn f(a, b) { … }`"},
	{"expected `=>`", "an arm is `pattern => value`: `match x { 1 => \"one\"; _ => \"more\" }`"},
	{"expected `=`", "`let x = 1`, `var x = 1`, `alias g = git status`"},
	{"expected `in`", "`for x in xs { … }`"},
	{"expected `:`", "a field is `name: value`"},
	{"expected a name", "names are letters, digits and `_`: `let x = 1`"},
	{"expected a function name", "`fn name(a, b) { … }`; a function value is a lambda: `(a, b) => a + b`"},
	{"expected a parameter name", "`fn f(a, b = 1, ...rest) { … }`"},
	{"expected a type", "types are int, float, str, bool, path, list<int>, …; they may be left away"},
	{"expected a field name", "a field is `name: value`, and is read as `r.name`"},
	{"expected a pattern", "a pattern is a literal, a range, a name, `TYPE name`, `{field}` or `[item, ...rest]`"},
	{"expected a command", "an alias is a command: `alias g = git status`"},
	{"expected a file after", "name the file: `cmd > out.txt`"},
	{"expected a module path", "`use ./lib/tools`"},
	{"expected `cwd:`", "`with cwd: ./dir, env: {NAME: \"value\"} { … }`"},
	{"duplicate parameter", "give each parameter a name of its own"},
	{"unexpected `", "there is nothing for it to close: take it away, or quote it"},
	{"unexpected character", "outside quotes only ASCII letters, digits and operators have a meaning: put text in \"…\""},
	{"unknown escape", `escapes are \n \t \r \0 \\ \" \{ \} \u{HEX}; use '…' for text with backslashes`},
	{"invalid character in", `\u{HEX} takes a Unicode scalar, such as \u{1F980}`},
	{"invalid digit in", "digits are 0-9a-f after 0x, 0-7 after 0o, 0 and 1 after 0b"},
	{"float literal out of range", "`math.inf` is infinity"},
	{"source is not valid UTF-8", "save the file as UTF-8"},
	{"`cwd` is given twice", "give it once; `with` blocks nest"},
	{"`env` is given twice", "put all variables in one record: `env: {A: \"1\", B: \"2\"}`"},
	{"`reef` is given twice", "put all tools in one record"},
	{"`...", "a rest parameter is a list, empty when nothing is left"},
}
