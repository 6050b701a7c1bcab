package kit

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Lines is a bare connection to the kernel's socket: bytes out, lines in.
type Lines struct {
	T    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

// Lines connects to the kernel that serves, and attaches nothing.
func (w *World) Lines() *Lines {
	w.T.Helper()
	conn, err := net.Dial("unix", w.Paths().Socket)
	if err != nil {
		w.T.Fatalf("connect to the kernel: %v", err)
	}
	w.T.Cleanup(func() { conn.Close() })
	return &Lines{w.T, conn, bufio.NewReaderSize(conn, 1<<20)}
}

// Send writes one line; it reports a peer that listens no more.
func (l *Lines) Send(line string) error {
	l.conn.SetWriteDeadline(time.Now().Add(Long))
	_, err := io.WriteString(l.conn, line+"\n")
	return err
}

// Next is the next line that the kernel writes, and io.EOF at its end.
func (l *Lines) Next() (Val, error) {
	line, err := l.NextLine()
	return Parse([]byte(line)), err
}

// NextLine is Next, byte for byte, without the newline.
func (l *Lines) NextLine() (string, error) {
	l.conn.SetReadDeadline(time.Now().Add(Long))
	line, err := l.r.ReadString('\n')
	if line = strings.TrimSpace(line); line == "" && err != nil {
		return "", err
	}
	return line, nil
}

// Ask sends a line and gives the next one back; none fails the test.
func (l *Lines) Ask(line string) Val {
	l.T.Helper()
	if err := l.Send(line); err != nil {
		l.T.Fatalf("send: %v", err)
	}
	v, err := l.Next()
	if err != nil {
		l.T.Fatalf("answer to %.80q: %v", line, err)
	}
	return v
}

// Close hangs up.
func (l *Lines) Close() { l.conn.Close() }
