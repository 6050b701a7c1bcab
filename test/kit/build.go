package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Programs are the binaries that a Bin directory holds.
var Programs = []string{"shoal", "shoal-mcp", "shoal-kernel", "shoal-launch"}

// Raced reports whether the binaries carry the race detector, whose memory is
// no measure of theirs.
func Raced() bool { return os.Getenv("SHOAL_RACE") != "" }

// Main runs a package's tests with the directory of the binaries under test in
// bin, and gives the status to exit with.
func Main(m *testing.M, bin *string) int {
	dir, remove, err := Bin()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	defer remove()
	*bin = dir
	return m.Run()
}

// Bin is the directory of the binaries under test: $SHOAL_BIN, or freshly built
// ones in a temporary directory that remove deletes.
func Bin() (dir string, remove func(), err error) {
	if dir = os.Getenv("SHOAL_BIN"); dir != "" {
		if dir, err = filepath.Abs(dir); err != nil {
			return "", nil, fmt.Errorf("find binaries: %w", err)
		}
		return dir, func() {}, checkBin(dir)
	}
	if dir, err = os.MkdirTemp("", "shoal-bin-"); err != nil {
		return "", nil, fmt.Errorf("build binaries: %w", err)
	}
	remove = func() { os.RemoveAll(dir) }
	if err := os.Chmod(dir, 0o755); err != nil { // other users run them too
		remove()
		return "", nil, fmt.Errorf("build binaries: %w", err)
	}
	args := []string{"build", "-o", dir + "/"}
	if Raced() {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "shoal.dev/shoal/cmd/...")...).CombinedOutput()
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("build binaries: %w: %s", err, out)
	}
	return dir, remove, checkBin(dir)
}

func checkBin(dir string) error {
	for _, name := range Programs {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("find binaries: %w", err)
		}
	}
	return nil
}
