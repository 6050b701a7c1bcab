package builtin

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// content is a value as a file's bytes: str and bytes as they are, everything
// else as compact JSON.
func content(v value.Value) (io.Reader, error) {
	switch v.Kind() {
	case value.KindStr:
		return strings.NewReader(v.AsStr()), nil
	case value.KindBytes:
		return v.AsBytes().Reader(), nil
	case value.KindOutcome:
		out, err := v.AsOutcome().OutValue()
		if err != nil {
			return nil, err
		}
		return content(out)
	}
	text, err := value.EncodeJSON(nil, v, false)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(text), nil
}

// saveTo writes a value to a path as save and append do.
func saveTo(m *interp.Machine, name, to string, v value.Value, mode interp.WriteMode, at syntax.Span) error {
	files, err := hostFiles(m, name, at)
	if err != nil {
		return err
	}
	if to == "" || strings.ContainsRune(to, 0) {
		return argErr(at, "%s: not a path: %s", name, quoteShort(to))
	}
	r, err := content(v)
	if err != nil {
		return err
	}
	err = files.WriteFile(m.Context(), absolute(m, to), r, mode)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*value.Error](err); ok {
		return e.WithSpan(spanOf(at))
	}
	return hintErr(at, value.CodeCustom, homeHint(to), "%s %s: %s", name, lossy(to), reason(err))
}

// homeHint explains a missing path that was meant to begin in the home
// directory: text is taken as it is, only words and path literals are expanded.
func homeHint(written string) string {
	if written != "~" && !strings.HasPrefix(written, "~/") {
		return ""
	}
	return "`~` in a string is a plain character: write " + written + " without quotes, or \"{env.HOME}" + written[1:] + "\""
}

func saveMethod(mode interp.WriteMode) run {
	return func(c *interp.Call, a []value.Value) (value.Value, error) {
		return c.Recv, saveTo(c.M, c.Name, a[0].AsStr(), c.Recv, mode, c.Span)
	}
}

// saveCall is save(path, v).
func saveCall(c *interp.Call, a []value.Value) (value.Value, error) {
	return a[1], saveTo(c.M, c.Name, a[0].AsStr(), a[1], interp.Replace, c.Span)
}

// headSave is `save PATH VALUE`.
func headSave(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 2)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) != 2 {
		return value.Null, argErr(c.Span, "save requires a path and a value")
	}
	to, err := w.path(w.args[0])
	if err != nil {
		return value.Null, err
	}
	return w.args[1].v, saveTo(c.M, c.Name, to, w.args[1].v, interp.Replace, c.Span)
}
