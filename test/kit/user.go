package kit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// asUser is the command line that runs what follows as another user.
func asUser(uid int) []string {
	id := itoa(uid)
	return []string{"setpriv", "--reuid", id, "--regid", id, "--clear-groups", "--"}
}

// AsUser gives the world to another user id, or skips the test by name when
// this one cannot become somebody else.
func (w *World) AsUser(uid int) {
	w.T.Helper()
	if os.Geteuid() != 0 {
		w.T.Skip("becoming another user needs root")
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		w.T.Skip("becoming another user needs setpriv")
	}
	w.User = uid
	chown(w.T, w.Root, uid)
}

func chown(t testing.TB, root string, uid int) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, uid)
	})
	if err != nil {
		t.Fatal(err)
	}
}
