package builtin

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

var paths = kindSet(value.KindPath)

// pathFields are the fields of paths; each may also be called without
// arguments. Those below the blank line look at the file system.
func pathFields() []fieldRow {
	return []fieldRow{
		{paths, "name", "The last component.", pathText(path.Base, "/"), nil},
		{paths, "stem", "The name without its extension.", pathStem, nil},
		{paths, "ext", "The extension without its dot, or null.", pathExt, nil},
		{paths, "parent", "The path above, or null for a bare name and the root.", pathParent, nil},

		{paths, "read", "The file's content as str; it must be UTF-8.", pathRead, readsRecv},
		{paths, "read_bytes", "The file's content as bytes.", pathReadBytes, readsRecv},
		{paths, "lines", "The file's lines, wrong UTF-8 replaced.", pathLines, readsRecv},
		{paths, "exists", "Whether something is there.", pathExists, readsRecv},
		{paths, "is_dir", "Whether it is a directory.", pathIs("dir"), readsRecv},
		{paths, "is_file", "Whether it is a regular file.", pathIs("file"), readsRecv},
		{paths, "size", "The file's length as size.", pathSize, readsRecv},
		{paths, "modified", "When the file was last changed.", pathModified, readsRecv},
	}
}

// pathRows are the other methods of paths.
func pathRows() []methodRow {
	return []methodRow{
		{paths, "join(other: str|path)", "The path with another below it; an absolute one replaces it.", pathJoin},
		{paths, "abs()", "The path made absolute from the working directory.", pathAbs},
	}
}

// readsRecv is the effect of looking at the receiver.
func readsRecv(recv interp.EffectArg, _ []interp.EffectArg, cwd string) []effect.Effect {
	return []effect.Effect{pathEffect(effect.FSRead, recv, cwd)}
}

func pathText(f func(string) string, root string) run {
	return func(c *interp.Call, _ []value.Value) (value.Value, error) {
		name := f(c.Recv.AsStr())
		if name == root || name == "." && c.Recv.AsStr() == "" {
			return value.Str(""), nil
		}
		return value.Str(lossy(name)), nil
	}
}

func lossy(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// cutExt splits a file name at its last dot; a leading dot begins the stem.
func cutExt(name string) (stem, ext string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 || name == ".." {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

func pathStem(c *interp.Call, _ []value.Value) (value.Value, error) {
	if strings.Trim(c.Recv.AsStr(), "/") == "" {
		return value.Null, nil
	}
	stem, _, _ := cutExt(path.Base(c.Recv.AsStr()))
	return value.Str(lossy(stem)), nil
}

func pathExt(c *interp.Call, _ []value.Value) (value.Value, error) {
	_, ext, ok := cutExt(path.Base(c.Recv.AsStr()))
	if !ok {
		return value.Null, nil
	}
	return value.Str(lossy(ext)), nil
}

func pathParent(c *interp.Call, _ []value.Value) (value.Value, error) {
	p := strings.TrimRight(c.Recv.AsStr(), "/")
	i := strings.LastIndexByte(p, '/')
	switch {
	case i < 0:
		return value.Null, nil
	case i == 0:
		return value.Path("/"), nil
	}
	return value.Path(strings.TrimRight(p[:i], "/")), nil
}

func pathJoin(c *interp.Call, a []value.Value) (value.Value, error) {
	other := a[0].AsStr()
	if strings.HasPrefix(other, "/") {
		return value.Path(other), nil
	}
	base := c.Recv.AsStr()
	if base != "" && !strings.HasSuffix(base, "/") {
		base += "/"
	}
	return value.Path(base + other), nil
}

func pathAbs(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Path(absolute(c.M, c.Recv.AsStr())), nil
}

// pathErr words a failure to look at or read the receiver: a missing file has
// a code of its own here, unlike for builtin heads.
func pathErr(c *interp.Call, err error) error {
	if e, ok := errors.AsType[*value.Error](err); ok {
		return e.WithSpan(spanOf(c.Span))
	}
	code := value.CodeCustom
	if errors.Is(err, fs.ErrNotExist) {
		code = value.CodeNotFound
	}
	return hintErr(c.Span, code, homeHint(c.Recv.AsStr()), "%s %s: %s", c.Name, lossy(c.Recv.AsStr()), reason(err))
}

func recvInfo(c *interp.Call) (interp.FileInfo, error) {
	files, err := filesOf(c)
	if err != nil {
		return interp.FileInfo{}, err
	}
	info, err := files.Stat(c.M.Context(), absolute(c.M, c.Recv.AsStr()))
	if err != nil {
		return info, pathErr(c, err)
	}
	return info, nil
}

func recvContent(c *interp.Call) ([]byte, error) {
	files, err := filesOf(c)
	if err != nil {
		return nil, err
	}
	r, err := files.Open(c.M.Context(), absolute(c.M, c.Recv.AsStr()))
	if err != nil {
		return nil, pathErr(c, err)
	}
	defer r.Close()
	b, err := readAll(r, c.M.Check)
	if err != nil {
		return nil, pathErr(c, err)
	}
	return b, nil
}

// readAll reads up to the largest text that the language holds. An error of
// check, which is asked between pieces, ends it.
func readAll(r io.Reader, check func() error) ([]byte, error) { return readUpTo(r, maxText, check) }

// readUpTo reads in pieces: a buffer that grows would be moved again and again,
// and the runtime cannot interrupt a move, so that all other sessions would
// wait for the largest.
func readUpTo(r io.Reader, most int, check func() error) ([]byte, error) {
	whole, rest, err := readSized(r, most, check)
	if err != nil || !rest {
		return whole, err
	}
	pieces := [][]byte{whole}
	total := len(whole)
	for size := readPieceMin; ; size = min(2*size, readPieceMax) {
		if err := check(); err != nil {
			return nil, err
		}
		b := make([]byte, size)
		n, err := io.ReadFull(r, b)
		if total += n; total > most {
			return nil, value.Errorf(value.CodeOverflow, "more than %d bytes", most)
		}
		pieces = append(pieces, b[:n])
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return joined(pieces, total), nil
		default:
			return joined(pieces, total), err
		}
	}
}

// The sizes of the pieces that files are read in, in bytes.
const (
	readPieceMin = 4 << 10
	readPieceMax = 1 << 20
)

func joined(pieces [][]byte, total int) []byte {
	all := make([]byte, 0, total)
	for _, p := range pieces {
		all = append(all, p...)
	}
	return all
}

func pathRead(c *interp.Call, _ []value.Value) (value.Value, error) {
	b, err := recvContent(c)
	if err != nil {
		return value.Null, err
	}
	if !utf8.Valid(b) {
		return value.Null, hintErr(c.Span, value.CodeUTF8, "use .read_bytes", "read %s: not UTF-8", lossy(c.Recv.AsStr()))
	}
	return value.Str(value.TextOf(b)), nil
}

func pathReadBytes(c *interp.Call, _ []value.Value) (value.Value, error) {
	b, err := recvContent(c)
	if err != nil {
		return value.Null, err
	}
	return value.NewBytes(b), nil
}

func pathLines(c *interp.Call, _ []value.Value) (value.Value, error) {
	b, err := recvContent(c)
	if err != nil {
		return value.Null, err
	}
	return linesOf(c, value.Lossy(b))
}

func pathExists(c *interp.Call, _ []value.Value) (value.Value, error) {
	files, err := filesOf(c)
	if err != nil {
		return value.Null, err
	}
	_, err = files.Stat(c.M.Context(), absolute(c.M, c.Recv.AsStr()))
	return value.Bool(err == nil), refusal(err)
}

func pathIs(kind string) run {
	return func(c *interp.Call, _ []value.Value) (value.Value, error) {
		files, err := filesOf(c)
		if err != nil {
			return value.Null, err
		}
		info, err := files.Stat(c.M.Context(), absolute(c.M, c.Recv.AsStr()))
		return value.Bool(err == nil && info.Type == kind), refusal(err)
	}
}

// refusal keeps an error that is not the file's: a denial or a cancellation.
func refusal(err error) error {
	e, ok := errors.AsType[*value.Error](err)
	if ok && (e.Code == value.CodePermission || e.Code == value.CodeCancelled || e.Code == value.CodeTimeout) {
		return e
	}
	return nil
}

func pathSize(c *interp.Call, _ []value.Value) (value.Value, error) {
	info, err := recvInfo(c)
	return value.Size(uint64(max(0, info.Size))), err
}

func pathModified(c *interp.Call, _ []value.Value) (value.Value, error) {
	info, err := recvInfo(c)
	if err != nil || info.Modified.IsZero() {
		return value.Null, err
	}
	return value.NewDatetime(info.Modified), nil
}
