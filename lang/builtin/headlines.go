package builtin

import (
	"bufio"
	"io"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// defaultHeadLines is how many lines head shows unless told.
const defaultHeadLines = 10

func headHead(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "n", short: "n", takes: true}}, 2)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) == 0 {
		return value.Null, argErr(c.Span, "head requires a path")
	}
	n := int64(defaultHeadLines)
	switch {
	case w.has("n") && len(w.args) == 2:
		return value.Null, argErr(c.Span, "head: the number of lines is given twice")
	case w.has("n"):
		n, err = w.lineCount(operand{w.flags["n"], true, c.Span})
	case len(w.args) == 2:
		if a := w.args[0]; a.word && strings.HasPrefix(a.v.AsStr(), "-") {
			return value.Null, hintErr(a.span, value.CodeArg, "head -n N PATH, or head PATH N", "head: unknown flag %s", a.v.AsStr())
		}
		n, err = w.lineCount(w.args[1])
	}
	if err != nil {
		return value.Null, err
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	w.args = w.args[:1]
	at, err := w.paths()
	if err != nil {
		return value.Null, err
	}
	if len(at) != 1 {
		return value.Null, argErr(c.Span, "head: expected one file, the pattern matches %d", len(at))
	}
	r, err := files.Open(c.M.Context(), at[0])
	if err != nil {
		return value.Null, fileErr(c, at[0], err)
	}
	defer r.Close()
	return firstLines(c, at[0], r, n)
}

// lineCount is a number of lines: a computed int, or a word that spells one.
func (w *words) lineCount(o operand) (int64, error) {
	switch {
	case o.v.Kind() == value.KindInt:
		if o.v.AsInt() < 0 {
			return 0, argErr(o.span, "%s: expected a number of lines, got %d", w.c.Name, o.v.AsInt())
		}
		return o.v.AsInt(), nil
	case o.v.Kind() == value.KindStr:
		n, ok := value.ParseInt(o.v.AsStr())
		if !ok || n < 0 {
			return 0, argErr(o.span, "%s: expected a number of lines, found %s", w.c.Name, quoteShort(o.v.AsStr()))
		}
		return n, nil
	}
	return 0, typeErr(o.span, "%s: the number of lines must be int, got %s", w.c.Name, o.v.Kind())
}

// firstLines stops reading as soon as it has n lines.
func firstLines(c *interp.HeadCall, at string, r io.Reader, n int64) (value.Value, error) {
	in := bufio.NewReader(io.LimitReader(r, maxText))
	var out []value.Value
	for int64(len(out)) < n {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return value.Null, fileErr(c, at, err)
		}
		if line == "" {
			break
		}
		if len(out) == maxItems {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "head: more than %d items", maxItems)
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		out = append(out, value.Str(lossy(line)))
		if err == io.EOF {
			break
		}
		if err := c.M.Check(); err != nil {
			return value.Null, err
		}
	}
	return value.NewList(out), nil
}
