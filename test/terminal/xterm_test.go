package terminal

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// xterm is xterm itself on a display that nobody sees. Its screen is read by
// printing it.
type xterm struct {
	display       string
	pane, printer net.Listener
}

// startXterm needs xterm and Xvfb.
func startXterm(t *testing.T) *xterm {
	for _, name := range []string{"xterm", "Xvfb"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s: %v", name, err)
		}
	}
	number, child, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1600x1200x8", "-nolisten", "tcp", "-noreset")
	server.ExtraFiles = []*os.File{child}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	child.Close()
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	display, err := bufio.NewReader(number).ReadString('\n')
	if err != nil {
		t.Fatalf("Xvfb did not start: %v", err)
	}
	x := &xterm{display: ":" + strings.TrimSpace(display)}
	dir := t.TempDir()
	for name, to := range map[string]*net.Listener{"pane": &x.pane, "printer": &x.printer} {
		if *to, err = net.Listen("unix", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*to).Close() })
	}
	return x
}

// startArbiter is xterm where it is installed, or nil.
func startArbiter(t *testing.T) peer {
	for _, name := range []string{"xterm", "Xvfb"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil
		}
	}
	return startXterm(t)
}

func (x *xterm) play(c *testCase) (shown, error) {
	exe, err := os.Executable()
	if err != nil {
		return shown{}, err
	}
	cmd := exec.Command("xterm", "-u8", "-fn", "fixed", "-geometry", fmt.Sprintf("%dx%d", c.Cols, c.Rows),
		"-xrm", fmt.Sprintf("*printerCommand: env %s=%s %s", printEnv, x.printer.Addr(), exe),
		"-xrm", "*printAttributes: 0", "-xrm", "*printerAutoClose: true", "-xrm", "*allowWindowOps: true",
		"-e", "env", fmt.Sprintf("%s=%s", paneEnv, x.pane.Addr()), exe)
	cmd.Env = append(os.Environ(), "DISPLAY="+x.display, "LC_ALL=C.UTF-8")
	if err := cmd.Start(); err != nil {
		return shown{}, err
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	pane, err := x.pane.Accept()
	if err != nil {
		return shown{}, err
	}
	defer pane.Close()
	pane.SetDeadline(time.Now().Add(peerTime))
	for _, st := range c.joined() {
		b := st.Write
		if st.Resize != nil {
			b = fmt.Appendf(nil, "\x1b[8;%d;%dt", st.Resize[1], st.Resize[0])
		}
		if _, err := send(pane, b); err != nil {
			return shown{}, err
		}
	}
	return x.shown(pane)
}

// shown asks xterm for its cursor and prints its screen.
func (x *xterm) shown(pane net.Conn) (shown, error) {
	var s shown
	answer, err := send(pane, []byte("\x1b[?25$p\x1b[?6$p\x1bP$qr\x1b\\\x1b[6n"))
	if err != nil {
		return s, err
	}
	var visible, origin, top, bot int
	_, err = fmt.Sscanf(string(answer), "\x1b[?25;%d$y\x1b[?6;%d$y\x1bP1$r%d;%dr\x1b\\\x1b[%d;%dR", &visible, &origin, &top, &bot, &s.Row, &s.Col)
	if err != nil {
		return s, fmt.Errorf("xterm said %q: %w", answer, err)
	}
	if origin == 1 {
		s.Row += top - 1
	}
	s.Row, s.Col, s.Hidden = s.Row-1, s.Col-1, visible == 2
	if _, err := send(pane, []byte("\x1b[?19h\x1b[i")); err != nil {
		return s, err
	}
	page, err := x.printer.Accept()
	if err != nil {
		return s, err
	}
	defer page.Close()
	text, err := io.ReadAll(page)
	// It prints the right half of a wide character as U+FFFF.
	s.Screen = strings.Split(strings.NewReplacer("\r", "", "\uffff", "").Replace(string(text)), "\n")
	return s.trimmed(), err
}
