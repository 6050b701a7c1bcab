//go:build !linux

package main

import "golang.org/x/sys/unix"

// The requests that read and change a terminal's settings.
const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)
