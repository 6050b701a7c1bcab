//go:build !linux

package link

import "syscall"

func dupOnto(from, to int) error { return syscall.Dup2(from, to) }
