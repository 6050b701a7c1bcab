package builtin

import (
	"slices"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// option is one flag of a command head: its long name, which is no spelling of
// its own when it is one letter, and the letters that mean the same.
type option struct {
	long  string
	short string
	takes bool // --long=value, --long value, -s value
}

// operand is a positional argument of a command head.
type operand struct {
	v    value.Value // what was computed or expanded; null and Word for plain words
	word bool        // v is the text of a word
	span syntax.Span
}

// words are the checked arguments of a command head.
type words struct {
	c     *interp.HeadCall
	flags map[string]value.Value // by long name; true for flags without value
	args  []operand
}

// has reports whether a flag was given.
func (w *words) has(long string) bool { _, ok := w.flags[long]; return ok }

// parseWords sorts a head's words into flags and operands. Unknown flags and,
// when most is not negative, more than most operands are refused.
func parseWords(c *interp.HeadCall, flags []option, most int) (*words, error) {
	if !c.Block.IsNull() {
		return nil, hintErr(c.Span, value.CodeArg, interp.BlockHint(c.Words), "%s takes no block", c.Name)
	}
	w := &words{c: c, flags: map[string]value.Value{}}
	literal := false
	for i := 0; i < len(c.Words); i++ {
		word := c.Words[i]
		switch {
		case literal || word.Kind != syntax.ArgDashDash && word.Kind != syntax.ArgLong && word.Kind != syntax.ArgShort:
			w.add(word)
		case word.Kind == syntax.ArgDashDash:
			literal = true
		case word.Kind == syntax.ArgLong:
			n, err := w.long(i, flags)
			if err != nil {
				return nil, err
			}
			i += n
		default:
			n, err := w.cluster(i, flags)
			if err != nil {
				return nil, err
			}
			i += n
		}
	}
	if c.Unmatched && most > 0 && len(w.args) == 0 {
		return nil, argErr(c.Span, "%s: no file matches the pattern", c.Name)
	}
	if most >= 0 && len(w.args) > most {
		if most == 0 {
			return nil, argErr(c.Span, "%s takes no arguments", c.Name)
		}
		return nil, argErr(c.Span, "%s: expected at most %s, got %d", c.Name, plural(most, "argument"), len(w.args))
	}
	return w, nil
}

func (w *words) add(word interp.Word) {
	if word.Has && word.Kind != syntax.ArgLong && word.Kind != syntax.ArgShort && word.Kind != syntax.ArgDashDash {
		plain := word.Kind == syntax.ArgWord || word.Kind == syntax.ArgString || word.Kind == syntax.ArgDash
		w.args = append(w.args, operand{word.Value, plain && word.Value.Kind() == value.KindStr, word.Span})
		return
	}
	w.args = append(w.args, operand{value.Str(word.Text), true, word.Span})
}

// long takes the long flag at i and returns how many more words it used.
func (w *words) long(i int, flags []option) (int, error) {
	word := w.c.Words[i]
	at := slices.IndexFunc(flags, func(f option) bool { return f.long == word.Flag && len(f.long) > 1 })
	if at < 0 {
		return 0, w.unknown(word)
	}
	switch {
	case !flags[at].takes && word.Has:
		return 0, argErr(word.Span, "%s: --%s takes no value", w.c.Name, word.Flag)
	case !flags[at].takes:
		w.flags[flags[at].long] = value.Bool(true)
		return 0, nil
	case word.Has:
		w.flags[flags[at].long] = word.Value
		return 0, nil
	}
	return w.next(i, flags[at], "--"+word.Flag)
}

// cluster takes the letters of a short cluster; only the last may take a value.
func (w *words) cluster(i int, flags []option) (int, error) {
	word := w.c.Words[i]
	letters := []rune(word.Flag)
	for n, r := range letters {
		at := slices.IndexFunc(flags, func(f option) bool { return strings.ContainsRune(f.short, r) })
		if at < 0 {
			return 0, w.unknown(word)
		}
		if flags[at].takes {
			if n < len(letters)-1 {
				return 0, argErr(word.Span, "%s: -%c takes a value, so it must be the last of its cluster", w.c.Name, r)
			}
			return w.next(i, flags[at], "-"+string(r))
		}
		w.flags[flags[at].long] = value.Bool(true)
	}
	return 0, nil
}

// next gives the word after i to a flag as its value.
func (w *words) next(i int, f option, spelling string) (int, error) {
	if i+1 >= len(w.c.Words) {
		return 0, argErr(w.c.Words[i].Span, "%s: %s requires a value", w.c.Name, spelling)
	}
	word := w.c.Words[i+1]
	if !word.Has {
		word.Value = value.Str(word.Text)
	}
	w.flags[f.long] = word.Value
	return 1, nil
}

func (w *words) unknown(word interp.Word) error {
	name := w.c.Name
	spelling := word.Text
	if spelling == "" {
		spelling = "-" + word.Flag
		if word.Kind == syntax.ArgLong {
			spelling = "-" + spelling
		}
	}
	hint := habits[name+" "+spelling]
	if hint == "" {
		hint = `run("` + name + `", …) reaches the program of that name`
	}
	return hintErr(word.Span, value.CodeArg, hint, "%s: unknown flag %s", name, spelling)
}

// habits are hints for flags that people bring from other shells.
var habits = map[string]string{
	"ls -l":    "every row has path, name, type, size and modified; run(\"ls\", \"-l\") for the program",
	"ls -la":   "ls -a lists hidden names; every row has path, name, type, size and modified",
	"ls -al":   "ls -a lists hidden names; every row has path, name, type, size and modified",
	"ls -lh":   "sizes are typed: (ls).map(.size); run(\"ls\", \"-lh\") for the program",
	"ls -t":    "(ls).sort_by(.modified).reverse()",
	"ls -S":    "(ls).sort_by(.size).reverse()",
	"ls -r":    "(ls).reverse()",
	"ls -R":    "glob(\"**/*\").expand()",
	"cp -a":    "cp -r copies directories; run(\"cp\", \"-a\", …) for the program",
	"cp -f":    "cp overwrites files already",
	"mv -f":    "mv overwrites files already",
	"echo -n":  "echo adds no newline",
	"echo -e":  "double-quoted strings have escapes already",
	"mkdir -v": "the result lists the directories that were made",
	"rm -i":    "rm moves to the trash, and undo brings things back",
	"rm -v":    "the result lists what was removed",
	"cat -n":   "path(f).lines().enumerate()",
	"head -c":  "path(f).read.take(n)",
	"ln -f":    "remove the link first",
	"ln -sf":   "remove the link first",
}

// text is an operand as a str, for heads that take one.
func (w *words) text(o operand, what string) (string, error) {
	if k := o.v.Kind(); k != value.KindStr && k != value.KindPath {
		return "", typeErr(o.span, "%s: %s must be str, got %s", w.c.Name, what, k)
	}
	return o.v.AsStr(), nil
}

// path is an operand as the path it was written as.
func (w *words) path(o operand) (string, error) {
	switch o.v.Kind() {
	case value.KindPath, value.KindStr:
		s := o.v.AsStr()
		switch {
		case s == "":
			return "", argErr(o.span, "%s: empty path", w.c.Name)
		case strings.ContainsRune(s, 0):
			return "", argErr(o.span, "%s: NUL in a path", w.c.Name)
		}
		return s, nil
	case value.KindList, value.KindTable:
		return "", hintErr(o.span, value.CodeType, "splice it with ...(xs)", "%s: expected a path, got %s", w.c.Name, o.v.Kind())
	}
	return "", typeErr(o.span, "%s: expected a path, got %s", w.c.Name, o.v.Kind())
}

// paths are all operands as absolute paths, globs expanded.
func (w *words) paths() ([]string, error) {
	out := make([]string, 0, len(w.args))
	for _, o := range w.args {
		if o.v.Kind() == value.KindGlob {
			found, err := w.c.M.Expand(o.v.AsGlob())
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
			continue
		}
		p, err := w.path(o)
		if err != nil {
			return nil, err
		}
		out = append(out, absolute(w.c.M, p))
	}
	return out, nil
}

// somePaths is paths for heads that need at least one.
func (w *words) somePaths() ([]string, error) {
	if len(w.args) == 0 {
		return nil, argErr(w.c.Span, "%s requires a path", w.c.Name)
	}
	return w.paths()
}
