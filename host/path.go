package host

import "path/filepath"

// split takes the last component off an absolute path.
func split(path string) (parent, last string) {
	return filepath.Dir(path), filepath.Base(path)
}

func join(dir, rest string) string {
	if rest == "" {
		return dir
	}
	return filepath.Join(dir, rest)
}
