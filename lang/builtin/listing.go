package builtin

import (
	"path"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// listingRows are the heads that look at directories and files.
func listingRows() []headRow {
	return []headRow{
		{"ls", "ls [-a|--all] [PATH…]", "A table {path, name, type, size, modified}: a directory's children, or the row of a file.", true, lsEffects, headLs},
		{"stat", "stat PATH…", "The row of a file, or a table for several.", true, readEffects, headStat},
		{"cat", "cat PATH…", "The files' content, one after the other, as bytes.", true, readEffects, headCat},
		{"head", "head PATH [N=10]", "The first N lines of a file, also head -n N PATH.", true, headEffects, headHead},
	}
}

func readEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	return pathEffects(effect.FSRead, operands(args, nil), cwd)
}

func lsEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	if of := operands(args, nil); len(of) > 0 {
		return pathEffects(effect.FSRead, of, cwd)
	}
	return []effect.Effect{{Kind: effect.FSRead, Path: cwd}}
}

func headEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	of := operands(args, []string{"n"})
	return pathEffects(effect.FSRead, of[:min(1, len(of))], cwd)
}

var fileShape = value.ShapeOf("path", "name", "type", "size", "modified")

// fileRow is the row of one file, as ls and stat show it.
func fileRow(made *value.Maker, at string, info interp.FileInfo) *value.Record {
	return entryRow(made, made.Path(at), path.Base(at), &info)
}

func entryRow(made *value.Maker, at value.Value, name string, info *interp.FileInfo) *value.Record {
	row := made.Row(fileShape)
	row.Vals[0], row.Vals[1] = at, made.Str(lossy(name))
	row.Vals[2], row.Vals[3] = fileType(info.Type), value.Size(uint64(max(0, info.Size)))
	if !info.Modified.IsZero() {
		row.Vals[4] = made.Datetime(info.Modified)
	}
	return row
}

var fileTypes = map[string]value.Value{
	"file": value.Str("file"), "dir": value.Str("dir"), "symlink": value.Str("symlink"), "other": value.Str("other"),
}

// fileType is a type's name; all rows share it.
func fileType(name string) value.Value {
	if v, ok := fileTypes[name]; ok {
		return v
	}
	return value.Str(name)
}

func headLs(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "all", short: "a"}}, -1)
	if err != nil {
		return value.Null, err
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	at, err := w.paths()
	if err != nil {
		return value.Null, err
	}
	if len(w.args) == 0 && !c.Unmatched {
		at = []string{c.M.Cwd()}
	}
	var rows []*value.Record
	var made value.Maker
	for _, p := range at {
		more, err := lsOne(c, &made, files, p, w.has("all"))
		if err != nil {
			return value.Null, err
		}
		rows = append(rows, more...)
	}
	if len(at) > 1 {
		sortRows(rows)
	}
	return value.NewTable(rows), nil
}

// lsOne is the row of a file, or the rows of what is in a directory, in order.
func lsOne(c *interp.HeadCall, made *value.Maker, files interp.Files, p string, all bool) ([]*value.Record, error) {
	info, err := files.Stat(c.M.Context(), p)
	if err != nil || info.Type != "dir" {
		info, err = files.Lstat(c.M.Context(), p)
		if err != nil {
			return nil, fileErr(c, p, err)
		}
		return []*value.Record{fileRow(made, p, info)}, nil
	}
	infos, err := files.List(c.M.Context(), p)
	if err != nil {
		return nil, fileErr(c, p, err)
	}
	return entryRows(made, strings.TrimRight(p, "/")+"/", infos, all), nil
}

// entryRows are the rows of what is in a directory, by name; all: with what is
// hidden.
func entryRows(made *value.Maker, dir string, infos []interp.FileInfo, all bool) []*value.Record {
	rows := make([]*value.Record, 0, len(infos))
	paths := make([]value.Value, 0, len(infos))
	for i := range infos {
		name := infos[i].Name
		if !all && strings.HasPrefix(name, ".") {
			continue
		}
		at := made.PathIn(dir, name)
		rows = append(rows, entryRow(made, at, name, &infos[i]))
		paths = append(paths, at)
	}
	sorted := make([]*value.Record, len(rows))
	for i, at := range orderStrings(paths) {
		sorted[i] = rows[at]
	}
	return sorted
}

// sortRows orders rows by path, component by component in byte order.
func sortRows(rows []*value.Record) {
	slices.SortStableFunc(rows, func(a, b *value.Record) int {
		return comparePaths(a.Vals[0].AsStr(), b.Vals[0].AsStr())
	})
}

// comparePaths lets the separator sort before every other byte.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch x, y := a[i], b[i]; {
		case x == y:
		case x == '/':
			return -1
		case y == '/':
			return 1
		case x < y:
			return -1
		default:
			return 1
		}
	}
	return len(a) - len(b)
}

func headStat(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, -1)
	if err != nil {
		return value.Null, err
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	at, err := w.somePaths()
	if err != nil {
		return value.Null, err
	}
	var made value.Maker
	rows := make([]*value.Record, 0, len(at))
	for _, p := range at {
		info, err := files.Lstat(c.M.Context(), p)
		if err != nil {
			return value.Null, fileErr(c, p, err)
		}
		rows = append(rows, fileRow(&made, p, info))
	}
	if len(rows) == 1 {
		return rows[0].Value(), nil
	}
	sortRows(rows)
	return value.NewTable(rows), nil
}

func headCat(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, -1)
	if err != nil {
		return value.Null, err
	}
	files, err := hostFiles(c.M, c.Name, c.Span)
	if err != nil {
		return value.Null, err
	}
	at, err := w.somePaths()
	if err != nil {
		return value.Null, err
	}
	var content []byte
	for _, p := range at {
		r, err := files.Open(c.M.Context(), p)
		if err != nil {
			return value.Null, fileErr(c, p, err)
		}
		b, err := readAll(r, c.M.Check)
		r.Close()
		if err != nil {
			return value.Null, fileErr(c, p, err)
		}
		if len(content)+len(b) > maxText {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "cat: more than %d bytes", maxText)
		}
		if content == nil {
			content = b
			continue
		}
		content = value.Extend(content, b)
	}
	return value.NewBytes(content), nil
}
