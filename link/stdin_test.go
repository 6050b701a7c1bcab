package link

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestReopenedPipe reads what was written before and after, ends at the end of
// input, stops a waiting read when it is closed, and leaves the first
// description blocking.
func TestReopenedPipe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux opens a pipe anew")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd := int(r.Fd()) // makes it blocking, as standard input is
	defer r.Close()
	if _, err := w.WriteString("before"); err != nil {
		t.Fatal(err)
	}
	f := reopened(r)
	if f == nil {
		t.Fatal("the pipe was not opened")
	}
	buf := make([]byte, 64)
	for _, want := range []string{"before", "after"} {
		if want == "after" {
			if _, err := w.WriteString(want); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := f.Read(buf); string(buf[:n]) != want || err != nil {
			t.Errorf("read %q %v, want %q", buf[:n], err, want)
		}
	}
	if err := f.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Errorf("it cannot be waited for: %v", err)
	}
	if flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFL, 0); errno != 0 || flags&syscall.O_NONBLOCK != 0 {
		t.Errorf("flags of the first description: %#x %v, want it blocking", flags, errno)
	}
	f.Close()
	again := reopened(r)
	w.Close()
	if n, err := again.Read(buf); n != 0 || err == nil {
		t.Errorf("at the end of input: %d %v", n, err)
	}
	again.Close()
}
