//go:build !linux

package host

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"shoal.dev/shoal/lang/interp"
)

// readDir lists a directory without looking at its entries.
func readDir(ctx context.Context, dir string) ([]interp.DirEntry, error) {
	d, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var out []interp.DirEntry
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		entries, err := d.ReadDir(4096)
		for _, e := range entries {
			out = append(out, interp.DirEntry{Name: e.Name(), Type: fileType(e.Type())})
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// list lists a directory and looks at its entries.
func list(ctx context.Context, dir string) ([]interp.FileInfo, error) {
	entries, err := readDir(ctx, dir)
	if err != nil {
		return nil, err
	}
	out := make([]interp.FileInfo, len(entries))
	for i, e := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		out[i] = interp.FileInfo{Name: e.Name, Type: e.Type}
		if info, err := os.Lstat(dir + "/" + e.Name); err == nil { // else it went away, or may not be looked at
			out[i] = fileInfo(info)
		}
	}
	return out, nil
}
