package builtin

import (
	"errors"
	"path"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// mutationRows are the heads that change the file system.
func mutationRows() []headRow {
	return []headRow{
		{"mkdir", "mkdir [-p|--parents] PATH…", "Makes directories; a list of their paths.", true, writeEffects, headMkdir},
		{"touch", "touch PATH…", "Creates files or sets their time of change to now; a list of their paths.", true, writeEffects, headTouch},
		{"cp", "cp [-r|-R|--recursive] SRC… DEST", "Copies; a list of the destinations.", true, copyEffects, headCp},
		{"mv", "mv SRC… DEST", "Moves; a list of the destinations.", true, moveEffects, headMv},
		{"rm", "rm [--permanent] [-r|-R|--recursive] [-f|--force] PATH…", "Moves to the trash: a list of {path, trash}; with --permanent deletes: a list of paths.", true, deleteEffects, headRm},
		{"ln", "ln [-s|--symbolic] TARGET LINK", "Makes a link: a record {target, link, symbolic}.", true, linkEffects, headLn},
	}
}

// fileErr words a failed operation of a head on a path.
func fileErr(c *interp.HeadCall, at string, err error) error {
	if e, ok := errors.AsType[*value.Error](err); ok {
		return e.WithSpan(spanOf(c.Span))
	}
	written := strings.TrimPrefix(at, c.M.Cwd()+"/")
	return hintErr(c.Span, value.CodeCustom, homeHint(written), "%s %s: %s", c.Name, lossy(at), reason(err))
}

// partErr is fileErr for a head that had already dealt with done paths.
func partErr(c *interp.HeadCall, at string, done int, err error) error {
	var e *value.Error
	if failed := fileErr(c, at, err); done == 0 || !errors.As(failed, &e) {
		return failed
	}
	with := *e
	with.Msg += " (" + plural(done, "earlier path") + " done)"
	return &with
}

// eachPath runs a head's operation on all its paths in order and lists them.
func eachPath(c *interp.HeadCall, at []string, do func(files interp.Files, p string) error) (value.Value, error) {
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	out := make([]value.Value, 0, len(at))
	for _, p := range at {
		if err := c.M.Check(); err != nil {
			return value.Null, err
		}
		if err := do(files, p); err != nil {
			return value.Null, partErr(c, p, len(out), err)
		}
		out = append(out, value.Path(p))
	}
	return value.NewList(out), nil
}

func headMkdir(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "parents", short: "p"}}, -1)
	if err != nil {
		return value.Null, err
	}
	at, err := w.somePaths()
	if err != nil {
		return value.Null, err
	}
	return eachPath(c, at, func(files interp.Files, p string) error {
		return files.Mkdir(c.M.Context(), p, w.has("parents"))
	})
}

func headTouch(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, -1)
	if err != nil {
		return value.Null, err
	}
	at, err := w.somePaths()
	if err != nil {
		return value.Null, err
	}
	now := clockNow(c.M)
	return eachPath(c, at, func(files interp.Files, p string) error {
		return files.Touch(c.M.Context(), p, now)
	})
}

// transfer is what cp and mv share: pairs of source and destination.
type transfer struct {
	from, to string
}

// transfers pairs the sources with their destinations: below DEST when that is
// a directory.
func transfers(c *interp.HeadCall, w *words, files interp.Files) ([]transfer, error) {
	if len(w.args) < 2 {
		return nil, argErr(c.Span, "%s requires a source and a destination", c.Name)
	}
	last := w.args[len(w.args)-1]
	w.args = w.args[:len(w.args)-1]
	from, err := w.paths()
	if err != nil {
		return nil, err
	}
	w.args = []operand{last}
	dests, err := w.paths()
	if err != nil {
		return nil, err
	}
	if len(dests) != 1 {
		return nil, argErr(last.span, "%s: expected one destination, the pattern matches %d", c.Name, len(dests))
	}
	if len(from) == 0 {
		return nil, argErr(c.Span, "%s: no sources", c.Name)
	}
	dest := dests[0]
	info, err := files.Stat(c.M.Context(), dest)
	isDir := err == nil && info.Type == "dir"
	if len(from) > 1 && !isDir {
		return nil, argErr(last.span, "%s: several sources need a directory as destination, and %s is none", c.Name, lossy(dest))
	}
	out := make([]transfer, len(from))
	for i, p := range from {
		out[i] = transfer{p, dest}
		if isDir && p != dest {
			out[i].to = strings.TrimRight(dest, "/") + "/" + path.Base(p)
		}
	}
	return out, nil
}

// inside reports whether p is below dir.
func inside(p, dir string) bool { return strings.HasPrefix(p, strings.TrimRight(dir, "/")+"/") }

// transferAll checks each pair, runs do for it, and lists the destinations.
func transferAll(c *interp.HeadCall, flags []option, do func(w *words, files interp.Files, t transfer) error) (value.Value, error) {
	w, err := parseWords(c, flags, -1)
	if err != nil {
		return value.Null, err
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	all, err := transfers(c, w, files)
	if err != nil {
		return value.Null, err
	}
	out := make([]value.Value, 0, len(all))
	for _, t := range all {
		if err := c.M.Check(); err != nil {
			return value.Null, err
		}
		if err := do(w, files, t); err != nil {
			return value.Null, partErr(c, missingEnd(c, files, t, err), len(out), err)
		}
		out = append(out, value.Path(t.to))
	}
	return value.NewList(out), nil
}

// missingEnd is the path that a failed transfer is about: where the source is
// there, a missing file can only be the destination's directory.
func missingEnd(c *interp.HeadCall, files interp.Files, t transfer, err error) string {
	if !isMissing(err) {
		return t.from
	}
	if _, serr := files.Lstat(c.M.Context(), t.from); serr != nil {
		return t.from
	}
	return t.to
}

func headCp(c *interp.HeadCall) (value.Value, error) {
	flags := []option{{long: "recursive", short: "rR"}}
	return transferAll(c, flags, func(w *words, files interp.Files, t transfer) error {
		info, err := files.Stat(c.M.Context(), t.from)
		if err != nil {
			return err
		}
		if sameFile(c, files, t) {
			return value.Errorf(value.CodeArg, "cp: %s and %s are the same file", lossy(t.from), lossy(t.to))
		}
		if info.Type == "dir" {
			if !w.has("recursive") {
				return value.Errorf(value.CodeArg, "cp: %s is a directory", lossy(t.from)).WithHint("cp -r copies directories")
			}
			if inside(t.to, t.from) {
				return value.Errorf(value.CodeArg, "cp: cannot copy %s into itself", lossy(t.from))
			}
		}
		return files.Copy(c.M.Context(), t.from, t.to, w.has("recursive"))
	})
}

// sameFile reports whether both ends of a transfer are one file.
func sameFile(c *interp.HeadCall, files interp.Files, t transfer) bool {
	if t.from == t.to {
		return true
	}
	to, err := files.Real(c.M.Context(), t.to)
	if err != nil {
		return false // the destination does not exist yet
	}
	from, err := files.Real(c.M.Context(), t.from)
	return err == nil && from == to
}

func headMv(c *interp.HeadCall) (value.Value, error) {
	return transferAll(c, nil, func(_ *words, files interp.Files, t transfer) error {
		info, err := files.Lstat(c.M.Context(), t.from)
		if err != nil || t.from == t.to {
			return err
		}
		if info.Type == "dir" && inside(t.to, t.from) {
			return value.Errorf(value.CodeArg, "mv: cannot move %s into itself", lossy(t.from))
		}
		return files.Move(c.M.Context(), t.from, t.to)
	})
}

var trashShape = value.ShapeOf("path", "trash")

func headRm(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "permanent"}, {long: "recursive", short: "rR"}, {long: "force", short: "f"}}, -1)
	if err != nil {
		return value.Null, err
	}
	at, err := w.paths()
	if err != nil {
		return value.Null, err
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	if len(at) == 0 {
		if w.has("force") {
			return value.NewList(nil), nil
		}
		return value.Null, codeErr(c.Span, value.CodeNoMatches, "rm: nothing to remove")
	}
	out := make([]value.Value, 0, len(at))
	for _, p := range at {
		if err := c.M.Check(); err != nil {
			return value.Null, err
		}
		v, err := removeOne(c, w, files, p)
		if err != nil {
			return value.Null, partErr(c, p, len(out), err)
		}
		if !v.IsNull() {
			out = append(out, v)
		}
	}
	return value.NewList(out), nil
}

// removeOne gives what the result lists for p; null for a missing path that
// --force skips.
func removeOne(c *interp.HeadCall, w *words, files interp.Files, p string) (value.Value, error) {
	info, err := files.Lstat(c.M.Context(), p)
	if err != nil {
		if w.has("force") && isMissing(err) {
			return value.Null, nil
		}
		return value.Null, err
	}
	if w.has("permanent") {
		if info.Type == "dir" && !w.has("recursive") {
			return value.Null, value.Errorf(value.CodeArg, "rm: %s is a directory", lossy(p)).WithHint("rm --permanent -r deletes directories")
		}
		return value.Path(p), files.Remove(c.M.Context(), p, w.has("recursive"))
	}
	trash, err := files.Trash(c.M.Context(), p)
	if err != nil {
		return value.Null, err
	}
	return value.NewRecord(trashShape, []value.Value{value.Path(p), value.Path(trash)}), nil
}

var linkShape = value.ShapeOf("target", "link", "symbolic")

func headLn(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "symbolic", short: "s"}}, 2)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) != 2 {
		return value.Null, argErr(c.Span, "ln requires a target and a link")
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	target, err := w.path(w.args[0])
	if err != nil {
		return value.Null, err
	}
	link, err := w.path(w.args[1])
	if err != nil {
		return value.Null, err
	}
	symbolic := w.has("symbolic")
	if !symbolic { // a hard link's target is the file; a symbolic one's is text
		target = absolute(c.M, target)
	}
	link = absolute(c.M, link)
	if info, err := files.Stat(c.M.Context(), link); err == nil && info.Type == "dir" {
		link = strings.TrimRight(link, "/") + "/" + path.Base(target)
	}
	if err := files.Link(c.M.Context(), target, link, symbolic); err != nil {
		at := link
		if !symbolic {
			at = missingEnd(c, files, transfer{target, link}, err)
		}
		return value.Null, fileErr(c, at, err)
	}
	return value.NewRecord(linkShape, []value.Value{value.Path(target), value.Path(link), value.Bool(symbolic)}), nil
}
