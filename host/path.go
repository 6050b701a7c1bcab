package host

import (
	"path/filepath"
	"strings"
)

// split takes the last component off an absolute path, by its bytes alone: to
// clean the path would take ".." back over a link.
func split(path string) (parent, last string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0:
		return "/", path
	case i == 0:
		return "/", path[1:]
	default:
		return path[:i], path[i+1:]
	}
}

func join(dir, rest string) string {
	if rest == "" {
		return dir
	}
	return filepath.Join(dir, rest)
}

// join2 puts relative parts together.
func join2(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	default:
		return a + "/" + b
	}
}
