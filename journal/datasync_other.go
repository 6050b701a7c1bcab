//go:build !linux

package journal

import "os"

// datasync flushes the file.
func datasync(f *os.File) error { return f.Sync() }
