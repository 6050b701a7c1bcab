package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/lang/interp"
)

// direntBuffer is how much of a directory is read at a time, in bytes.
const direntBuffer = 64 << 10

var direntBuffers = sync.Pool{New: func() any { return new([direntBuffer]byte) }}

// readDir lists a directory without looking at its entries.
func readDir(ctx context.Context, dir string) ([]interp.DirEntry, error) {
	fd, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readEntries(ctx, fd)
}

// list lists a directory and looks at its entries, which lie beside each other:
// the system finds them from the open directory.
func list(ctx context.Context, dir string) ([]interp.FileInfo, error) {
	fd, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	entries, err := readEntries(ctx, fd)
	if err != nil {
		return nil, err
	}
	return lookAtAll(ctx, fd, entries)
}

func lookAtAll(ctx context.Context, fd int, entries []interp.DirEntry) ([]interp.FileInfo, error) {
	out := make([]interp.FileInfo, len(entries))
	for i, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := lookAt(fd, e.Name, &out[i]); err != nil { // it went away, or may not be looked at
			out[i] = interp.FileInfo{Name: e.Name, Type: e.Type}
		}
	}
	return out, nil
}

func openDir(dir string) (fd int, err error) {
	for {
		fd, err = unix.Open(dir, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// readEntries reads an open directory to its end.
func readEntries(ctx context.Context, fd int) ([]interp.DirEntry, error) {
	buf := direntBuffers.Get().(*[direntBuffer]byte)
	defer direntBuffers.Put(buf)
	var out []interp.DirEntry
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := unix.Getdents(fd, buf[:])
		switch {
		case err == unix.EINTR:
		case err == unix.ENOENT: // it was removed meanwhile, so nothing is in it
			return out, nil
		case err != nil:
			return nil, err
		case n == 0:
			return out, nil
		default:
			out = appendEntries(out, fd, buf[:n])
		}
	}
}

// The layout of a struct linux_dirent64.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
	direntUsual  = 32 // bytes that one takes, as a rule
)

// appendEntries reads the structs that getdents64 has written.
func appendEntries(out []interp.DirEntry, fd int, buf []byte) []interp.DirEntry {
	names := string(buf) // one copy for all of them
	if out == nil {
		out = make([]interp.DirEntry, 0, len(buf)/direntUsual)
	}
	for at := 0; at < len(buf); {
		size := int(binary.NativeEndian.Uint16(buf[at+direntLength:]))
		end := at + direntName + max(0, bytes.IndexByte(buf[at+direntName:at+size], 0))
		name := names[at+direntName : end]
		if name != "." && name != ".." {
			out = append(out, interp.DirEntry{Name: name, Type: entryType(fd, name, buf[at+direntType])})
		}
		at += size
	}
	return out
}

// entryType is the type that a directory tells of an entry, or, where it does
// not tell, what the entry itself does.
func entryType(fd int, name string, kind byte) string {
	switch kind {
	case unix.DT_DIR:
		return "dir"
	case unix.DT_LNK:
		return "symlink"
	case unix.DT_REG:
		return "file"
	case unix.DT_UNKNOWN:
		var info interp.FileInfo
		if err := lookAt(fd, name, &info); err == nil {
			return info.Type
		}
	}
	return "other"
}

// lookAt is what lstat says about a name in an open directory.
func lookAt(fd int, name string, info *interp.FileInfo) error {
	var st unix.Stat_t
	err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	for err == unix.EINTR {
		err = unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return err
	}
	mode := modeOf(st.Mode)
	info.Name, info.Type, info.Size = name, fileType(mode), st.Size
	info.Modified, info.Mode = time.Unix(st.Mtim.Unix()), mode
	return nil
}

// modeBits are the system's bits beside Go's.
var modeBits = []struct {
	mask, is uint32
	mode     fs.FileMode
}{
	{unix.S_IFMT, unix.S_IFDIR, fs.ModeDir},
	{unix.S_IFMT, unix.S_IFLNK, fs.ModeSymlink},
	{unix.S_IFMT, unix.S_IFIFO, fs.ModeNamedPipe},
	{unix.S_IFMT, unix.S_IFSOCK, fs.ModeSocket},
	{unix.S_IFMT, unix.S_IFBLK, fs.ModeDevice},
	{unix.S_IFMT, unix.S_IFCHR, fs.ModeDevice | fs.ModeCharDevice},
	{unix.S_ISUID, unix.S_ISUID, fs.ModeSetuid},
	{unix.S_ISGID, unix.S_ISGID, fs.ModeSetgid},
	{unix.S_ISVTX, unix.S_ISVTX, fs.ModeSticky},
}

func modeOf(system uint32) fs.FileMode {
	mode := fs.FileMode(system & 0o777)
	for _, b := range modeBits {
		if system&b.mask == b.is {
			mode |= b.mode
		}
	}
	return mode
}
