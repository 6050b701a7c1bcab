//go:build !linux

package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
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
			out = append(out, interp.DirEntry{Name: e.Name(), Type: fileType(e.Type()), Info: infoOf(e)})
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func infoOf(e fs.DirEntry) func() (interp.FileInfo, error) {
	return func() (interp.FileInfo, error) {
		info, err := e.Info()
		if err != nil {
			return interp.FileInfo{}, plain(err)
		}
		return fileInfo(info), nil
	}
}
