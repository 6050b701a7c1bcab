package host

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/lang/interp"
)

// direntBuffer is how much of a directory is read at a time, in bytes.
const direntBuffer = 64 << 10

// readDir lists a directory without looking at its entries.
func readDir(ctx context.Context, dir string) ([]interp.DirEntry, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var out []interp.DirEntry
	buf := make([]byte, direntBuffer)
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := unix.Getdents(fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return out, nil
		default:
			out = appendEntries(out, dir, buf[:n])
		}
	}
}

// The layout of a struct linux_dirent64.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// appendEntries reads the structs that getdents64 has written.
func appendEntries(out []interp.DirEntry, dir string, buf []byte) []interp.DirEntry {
	names := string(buf) // one copy for all of them
	for at := 0; at < len(buf); {
		size := int(binary.NativeEndian.Uint16(buf[at+direntLength:]))
		end := at + direntName + max(0, bytes.IndexByte(buf[at+direntName:at+size], 0))
		name := names[at+direntName : end]
		if name != "." && name != ".." {
			out = append(out, entryOf(dir, name, buf[at+direntType]))
		}
		at += size
	}
	return out
}

func entryOf(dir, name string, kind byte) interp.DirEntry {
	e := interp.DirEntry{Name: name, Info: func() (interp.FileInfo, error) { return lookAt(dir, name) }}
	switch kind {
	case unix.DT_DIR:
		e.Type = "dir"
	case unix.DT_LNK:
		e.Type = "symlink"
	case unix.DT_REG:
		e.Type = "file"
	case unix.DT_UNKNOWN: // the file system does not tell
		if info, err := lookAt(dir, name); err == nil {
			e.Type = info.Type
		}
	default:
		e.Type = "other"
	}
	return e
}

// lookAt is what Lstat says about a name in a directory.
func lookAt(dir, name string) (interp.FileInfo, error) {
	var st unix.Stat_t
	err := unix.Lstat(join(dir, name), &st)
	for err == unix.EINTR {
		err = unix.Lstat(join(dir, name), &st)
	}
	if err != nil {
		return interp.FileInfo{}, err
	}
	mode := modeOf(st.Mode)
	return interp.FileInfo{
		Name: name, Type: fileType(mode), Size: st.Size,
		Modified: time.Unix(st.Mtim.Unix()), Mode: mode,
	}, nil
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
