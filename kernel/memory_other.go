//go:build !linux

package kernel

// machineMemory is what a small machine of today has, in bytes.
func machineMemory() int64 { return 8 << 30 }
