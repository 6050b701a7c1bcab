package interp

import (
	"strings"

	"shoal.dev/shoal/lang/value"
)

// What other shells and languages call things, and what they are called here.

// elsewhere are names of other languages that are nothing here, with the form
// to write.
var elsewhere = map[string]string{
	// values
	"None": "`null`", "nil": "`null`", "NULL": "`null`", "undefined": "`null`", "none": "`null`",
	"True": "`true`", "TRUE": "`true`", "False": "`false`", "FALSE": "`false`",
	"self": "functions have no `self`: pass the value, `x => x.name`", "this": "functions have no `this`: pass the value, `x => x.name`",

	// functions
	"print":   "the last value is shown by itself; `echo (x)` shows one before it",
	"println": "the last value is shown by itself; `echo (x)` shows one before it",
	"puts":    "the last value is shown by itself; `echo (x)` shows one before it",
	"console": "the last value is shown by itself; `echo (x)` shows one before it",
	"say":     "the last value is shown by itself; `echo (x)` shows one before it",
	"len":     "`x.len()`", "length": "`x.len()`", "size": "`x.len()`; of each item `.size`",
	"str": "`x.str()`, or \"{x}\"", "string": "`x.str()`, or \"{x}\"", "String": "`x.str()`, or \"{x}\"",
	"int": "`\"42\".parse_int()`; a name is declared with `let`", "parseInt": "`\"42\".parse_int()`",
	"float": "`\"1.5\".parse_float()`", "parseFloat": "`\"1.5\".parse_float()`",
	"list": "`(1..3).collect()`", "dict": "`{key: value}`", "map": "`xs.map(x => x + 1)`",
	"filter": "`xs.where(x => x > 1)`", "where": "`xs.where(x => x > 1)`", "each": "`xs.map(x => x + 1)`, or `for x in xs { … }`",
	"select": "`rows.select(\"name\")`, or `rows.map(.name)`",
	"reduce": "`xs.reduce(0, (a, x) => a + x)`", "enumerate": "`xs.enumerate()`", "zip": "`xs.zip(ys)`",
	"max": "`[1, 2].max()`", "min": "`[1, 2].min()`", "abs": "`(-1).abs()`", "round": "`(1.5).round()`",
	"sorted": "`xs.sort()`", "reversed": "`xs.reverse()`", "any": "`xs.any(x => x > 1)`", "all": "`xs.all(x => x > 1)`",
	"type": "`match x { int n => \"int\"; str s => \"str\"; _ => \"other\" }` tests the type of a value; `which NAME` says what a command is", "typeof": "`match x { int n => \"int\"; str s => \"str\"; _ => \"other\" }` tests a type",
	"isinstance": "`match x { int n => true; _ => false }` tests a type",
	"read":       "`path(\"file\").read`", "open": "`path(\"file\").read`", "input": "there is no prompt; scripts take `args`",
	"glob": "`glob(\"*.txt\")`", "desc": "`.sort().reverse()`",
	"JSON": "`json.parse(text)`, `json.stringify(x)`", "Math": "`math.sqrt(2)`, `math.pi`", "sys": "`args` in a script, `os.platform()`",
	"process": "`env.NAME`, `os.pid()`", "subprocess": "`(cmd)` runs a command: `let r = (cmd)`, then `r.out`",
	"function": "a function value is a lambda: `x => x + 1`; a declaration is `fn f(x) { … }`",
	"lambda":   "a lambda is `x => x + 1`",

	// what is called, or holds what is called
	"now": "`now()` is the time", "today": "`today()` is the midnight it began with", "range": "`range(0, 10)`, or `0..10`",
	"every": "`every(1s)` is a stream of ticks", "channel": "`channel(\"name\")`", "retry": "`retry(3, () => (cmd))`",
	"parallel": "`parallel(() => 1, () => 2)`", "regex": "`regex(\"a+\")`, or `re\"a+\"`", "path": "`path(\"file\")`",
	"json": "`json.parse(text)`, `json.stringify(x)`", "yaml": "`yaml.parse(text)`, `yaml.stringify(x)`",
	"toml": "`toml.parse(text)`, `toml.stringify(x)`", "csv": "`csv.parse(text)`, `csv.stringify(rows)`",
	"http": "`http.get(url)`, `http.post(url, body)`", "math": "`math.sqrt(2)`, `math.pi`", "os": "`os.platform()`, `os.cpus()`",
	"config": "`config.all()`, `config.get(\"key\")`", "secret": "`secret.get(\"name\")`",

	// declarations
	"const": "`let x = 1` binds for good", "val": "`let x = 1` binds for good", "readonly": "`let x = 1` binds for good",
	"final": "`let x = 1` binds for good", "mut": "`var x = 1` makes a variable", "auto": "`let x = 1`", "my": "`let x = 1`",
	"local":   "`let` and `var` are local to their block: `let x = 1`",
	"declare": "`let x = 1`, `var x = 1`, `env.X = \"1\"`", "typeset": "`let x = 1`, `var x = 1`, `env.X = \"1\"`",
	"set":    "`env.NAME = \"value\"` sets a variable, `let` and `var` bind names; a failing command stops the program by itself",
	"setenv": "`env.NAME = \"value\"`", "unset": "`env.NAME = null` unsets a variable", "unsetenv": "`env.NAME = null` unsets a variable",
	"shopt": "there are no shell options; `glob(\"*\", hidden: true)` sees hidden names",
	"def":   "`fn f(x) { x }`", "func": "`fn f(x) { x }`", "proc": "`fn f(x) { x }`", "unalias": "a new `alias` or `fn` replaces the old one",
	"class": "a record holds what belongs together: `{name: \"a\", run: x => x}`", "struct": "a record holds what belongs together: `{name: \"a\"}`",
	"enum": "strings name cases: `match x { \"a\" => 1; _ => 2 }`",

	// control
	"loop": "`while true { … }`", "until": "`while !cond { … }`", "unless": "`if !cond { … }`", "repeat": "`for i in 0..3 { … }`", "foreach": "`for x in xs { … }`",
	"throw": "`assert(false, \"why\")` raises", "raise": "`assert(false, \"why\")` raises", "except": "`try { … } catch e { … }`", "trap": "`try { … } catch e { … }`",
	"await": "`task.await()`", "async": "`spawn { … }`", "wait": "`task.await()` waits for the task that `spawn` gave", "shift": "`args.skip(1)`",
	"eval": "there is no eval; build values, or use `run(name, …)`",
	"exec": "a command cannot replace the session; just run it", "fg": "`task.await()`; `jobs` lists tasks", "bg": "`spawn { cmd }`; `jobs` lists tasks",
	"disown": "`spawn { cmd }` runs beside the session",

	// modules
	"import": "`use ./name` loads name.shl", "from": "`use ./name` loads name.shl", "require": "`use ./name` loads name.shl", "include": "`source ./file.shl`",
	"using": "`use ./name` loads name.shl",

	// commands
	"command": "`^name` runs the program, past bindings and adapters", "builtin": "a builtin runs by its name", "hash": "`which NAME`", "whence": "`which NAME`",
	"ulimit": "`sh { ulimit -n; cmd }`", "umask": "`sh { umask 022; cmd }`",
	"sudo": "this machine has no sudo: run the command without it", "man": "`shoal help NAME` explains a builtin", "clear": "there is no screen to clear",
	"getopts": "parameters have types and defaults: `fn f(name: str, loud: bool = false) { … }`",
}

// hintElsewhere is the hint for a name that is nothing here.
func hintElsewhere(name string) string {
	if hint := elsewhere[name]; hint != "" {
		return hint
	}
	if rest, ok := strings.CutSuffix(name, "++"); ok && rest != "" {
		return "`" + rest + " += 1`"
	}
	if rest, ok := strings.CutSuffix(name, "--"); ok && rest != "" {
		return "`" + rest + " -= 1`"
	}
	if strings.HasPrefix(name, "//") || strings.HasPrefix(name, "/*") {
		return "a comment starts with `#`"
	}
	return ""
}

// operandHint is what to do about operands that an operator does not take.
func operandHint(op string, a, b value.Kind) string {
	either := func(kinds ...value.Kind) bool {
		for _, k := range kinds {
			if a == k || b == k {
				return true
			}
		}
		return false
	}
	switch {
	case either(value.KindOutcome):
		return "use the command's value: `.out`"
	case either(value.KindNull):
		return "a value is null: `x ?? 0` puts another in its place"
	case either(value.KindClosure):
		return "call the function: `f(x)`"
	case either(value.KindPath) && either(value.KindStr, value.KindPath):
		return "`p.join(\"name\")` makes a path; text is put together with \"{a}{b}\" or .str()"
	case op == "+" && either(value.KindStr):
		return `put the value into the string: "…{x}…", or convert it with .str()`
	case op == "*" && either(value.KindStr):
		return "`range(0, 3).map(i => \"ab\").join()` repeats text; `.parse_int()` makes a number of it"
	case either(value.KindStr):
		return "text is no number: `.parse_int()` and `.parse_float()` make one of it"
	case either(value.KindRange):
		return "make a list of the range: `(1..3).collect()`"
	case op == "+" && either(value.KindList, value.KindTable):
		return "a list joins with a list: `xs + [x]`"
	case either(value.KindList, value.KindTable):
		return "`xs.map(x => x * 2)` computes with each item, `xs.where(x => !(x in ys))` takes items away"
	case op == "+" && a == value.KindRecord && b == value.KindRecord:
		return "`a.merge(b)` joins records"
	case either(value.KindRecord):
		return "name the field: `r.size`"
	case either(value.KindTime):
		return "a time of day has no arithmetic; a datetime has: `now + 1h`"
	case a == value.KindDatetime && b == value.KindDatetime:
		return "datetimes are subtracted, which gives a duration: `a - b`"
	case either(value.KindDatetime):
		return "a datetime takes a duration: `now + 1d`, `now - 1h`"
	case op == "/" && b == value.KindFloat, op == "%":
		return "divide by a quantity for a number: `(x / 1b) % 3`, `x / 1s`; multiply for a part: `x * 0.5`"
	case either(value.KindSize) && either(value.KindInt, value.KindFloat):
		return "give the number a unit: `1kb`; or take it off: `x / 1b`"
	case either(value.KindDuration) && either(value.KindInt, value.KindFloat):
		return "give the number a unit: `1s`; or take it off: `x / 1s`"
	case either(value.KindSize, value.KindDuration):
		return "take the unit off one of them: `x / 1b`, `x / 1s`"
	case either(value.KindBool):
		return "conditions are joined by `&&`, `||` and `!`"
	}
	return "take the part of the value that is meant, such as `.len()` or a field"
}
