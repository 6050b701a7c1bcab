package link

import "os"

// Stdin is the process's standard input for a relay. Reading a pipe the usual
// way keeps a thread in the system call, which the runtime's monitor looks after
// every 20 µs for as long as frames come; through a description of its own the
// pipe can be waited for like a socket, and whoever shares the old one sees no
// change. What is no pipe, or cannot be opened anew, is read as it is.
func Stdin() *os.File {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return os.Stdin
	}
	if f := reopened(os.Stdin); f != nil {
		return f
	}
	return os.Stdin
}
