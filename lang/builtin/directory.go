package builtin

import (
	"errors"
	"io/fs"
	"slices"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// directoryRows are the heads about the working directory and its stack.
func directoryRows() []headRow {
	write := only(effect.SessionWrite)
	return []headRow{
		{"pwd", "pwd", "The working directory.", false, nil, headPwd},
		{"cd", "cd [PATH|-]", "Changes the working directory: to HOME without argument, back with -.", false, write, headCd},
		{"pushd", "pushd [PATH]", "Changes the working directory and remembers the old one; without argument swaps with the top. The stack, working directory first.", false, write, headPushd},
		{"popd", "popd", "Goes back to the directory on top of the stack. The stack, working directory first.", false, write, headPopd},
		{"j", "j [QUERY]", "Changes to a directory, or to the one that was gone to most whose path holds the query; without it to the best of all.", false, write, headJump},
		{"jump", "jump [QUERY]", "Changes to a directory, or to the one that was gone to most whose path holds the query; without it to the best of all.", false, write, headJump},
		{"dirs", "dirs", "The directory stack, working directory first.", false, nil, headDirs},
	}
}

func headPwd(c *interp.HeadCall) (value.Value, error) {
	if _, err := parseWords(c, nil, 0); err != nil {
		return value.Null, err
	}
	cwd := c.M.Cwd()
	if h := c.M.Host(); h != nil && h.Files != nil {
		if _, err := h.Files.Stat(c.M.Context(), cwd); errors.Is(err, fs.ErrNotExist) {
			return value.Null, hintErr(c.Span, value.CodeNotFound, "cd to one that does", "the working directory %s does not exist any more", lossy(cwd))
		}
	}
	return value.Path(cwd), nil
}

// directory is the canonical path of an existing directory.
func directory(c *interp.HeadCall, written string) (string, error) {
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return "", err
	}
	at := absolute(c.M, written)
	real, err := files.Real(c.M.Context(), at)
	if err != nil {
		if refused := refusal(err); refused != nil {
			return "", refused
		}
		return "", argErr(c.Span, "%s %s: %s", c.Name, lossy(written), reason(err))
	}
	info, err := files.Stat(c.M.Context(), real)
	if err != nil {
		return "", argErr(c.Span, "%s %s: %s", c.Name, lossy(written), reason(err))
	}
	if info.Type != "dir" {
		return "", argErr(c.Span, "%s %s: not a directory", c.Name, lossy(written))
	}
	return real, nil
}

func headCd(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	target := ""
	switch {
	case len(w.args) == 0:
		home, ok := c.M.Getenv("HOME")
		if !ok || home.Kind() != value.KindStr || home.AsStr() == "" {
			return value.Null, argErr(c.Span, "cd: HOME is not set")
		}
		target = home.AsStr()
	case w.args[0].word && w.args[0].v.AsStr() == "-":
		if target = c.M.OldPwd(); target == "" {
			return value.Null, hintErr(c.Span, value.CodeCustom, "`cd -` goes back to where the last `cd` came from, and there was none; `cd ..` goes up, `cd` home",
				"cd: OLDPWD not set")
		}
	default:
		if target, err = w.path(w.args[0]); err != nil {
			return value.Null, err
		}
	}
	if target, err = directory(c, target); err != nil {
		return value.Null, err
	}
	return value.Path(target), c.M.Chdir(target)
}

// headJump goes to a directory that is there, else to the best match among
// those that the session was in before.
func headJump(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, -1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) > 1 {
		return value.Null, argErr(c.Span, "%s takes at most one query", c.Name)
	}
	query := ""
	if len(w.args) == 1 {
		if query, err = w.path(w.args[0]); err != nil {
			return value.Null, err
		}
		target, err := directory(c, query)
		if err == nil {
			return value.Path(target), c.M.Chdir(target)
		}
		if refusal(err) != nil && !isArgument(err) {
			return value.Null, err
		}
	}
	for _, dir := range c.M.Visited(query) {
		if target, err := directory(c, dir); err == nil {
			return value.Path(target), c.M.Chdir(target)
		}
	}
	return value.Null, hintErr(c.Span, value.CodeNotFound, "only directories that this session was in are known; cd goes to any",
		"%s: no directory matches %s", c.Name, quoteShort(query))
}

// isArgument reports whether an error says that a path is no directory.
func isArgument(err error) bool {
	e, ok := errors.AsType[*value.Error](err)
	return ok && e.Code == value.CodeArg
}

func headPushd(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	stack, here := c.M.DirStack(), c.M.Cwd()
	target := ""
	rest := stack
	if len(w.args) == 0 {
		if len(stack) == 0 {
			return value.Null, codeErr(c.Span, value.CodeCustom, "pushd: no other directory to swap with")
		}
		target, rest = stack[0], stack[1:]
	} else if target, err = w.path(w.args[0]); err != nil {
		return value.Null, err
	}
	if target, err = directory(c, target); err != nil {
		return value.Null, err
	}
	if err := c.M.SetDirs(target, append([]string{here}, rest...)); err != nil {
		return value.Null, err
	}
	return dirList(c.M), nil
}

func headPopd(c *interp.HeadCall) (value.Value, error) {
	if _, err := parseWords(c, nil, 0); err != nil {
		return value.Null, err
	}
	stack := c.M.DirStack()
	if len(stack) == 0 {
		return value.Null, codeErr(c.Span, value.CodeCustom, "popd: the directory stack is empty")
	}
	target, err := directory(c, stack[0])
	if err != nil {
		return value.Null, err
	}
	if err := c.M.SetDirs(target, slices.Clone(stack[1:])); err != nil {
		return value.Null, err
	}
	return dirList(c.M), nil
}

func headDirs(c *interp.HeadCall) (value.Value, error) {
	if _, err := parseWords(c, nil, 0); err != nil {
		return value.Null, err
	}
	return dirList(c.M), nil
}

func dirList(m *interp.Machine) value.Value {
	out := []value.Value{value.Path(m.Cwd())}
	for _, d := range m.DirStack() {
		out = append(out, value.Path(d))
	}
	return value.NewList(out)
}
