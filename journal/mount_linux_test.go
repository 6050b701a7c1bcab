package journal

import "golang.org/x/sys/unix"

func mountSmall(dir string) error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m") }

func unmountSmall(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) }
