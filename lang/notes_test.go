package lang_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// closedFiles are files among which one directory cannot be read.
type closedFiles struct {
	host.Files
	closed string
}

func (f closedFiles) ReadDir(ctx context.Context, path string) ([]interp.DirEntry, error) {
	if path == f.closed {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
	}
	return f.Files.ReadDir(ctx, path)
}

// A glob skips a directory that cannot be read, and says so.
func TestUnreadableDirectoryIsNoted(t *testing.T) {
	dir := sourceFolder(t)
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(closed, "unseen.shl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := interp.NewState(dir, nil)
	p, perr := lang.NewCompiler().Compile(`glob("[lc]*/*.shl").map(.name)`, s)
	if perr != nil {
		t.Fatal(perr)
	}
	var notes []interp.Note
	v, err := p.Run(context.Background(), interp.Run{
		State: s, Host: &interp.Host{Files: closedFiles{closed: closed}}, Note: func(n interp.Note) { notes = append(notes, n) },
	})
	if got, want := value.Inline(v), `["a.shl", "b.shl", "c.shl"]`; err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if len(notes) != 1 || notes[0].Code != "unreadable_dir" || notes[0].Data["path"] != closed {
		t.Errorf("notes: %+v", notes)
	}
}
