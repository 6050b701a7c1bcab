package terminal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peer is another terminal that can play a program.
type peer interface {
	play(c *testCase) (shown, error)
}

// shown is what a terminal shows, without trailing blanks and blank rows.
type shown struct {
	Screen   []string
	Row, Col int
	Hidden   bool
}

func (s shown) String() string {
	return fmt.Sprintf("%q cursor %d,%d hidden %v", s.Screen, s.Row, s.Col, s.Hidden)
}

func (s shown) equal(o shown) bool { return s.String() == o.String() }

// joined is the steps with writes that follow each other put together.
func (c *testCase) joined() []step {
	var all []step
	for _, st := range c.Steps {
		if n := len(all); n > 0 && st.Resize == nil && all[n-1].Resize == nil {
			all[n-1].Write = append(all[n-1].Write[:len(all[n-1].Write):len(all[n-1].Write)], st.Write...)
			continue
		}
		all = append(all, st)
	}
	return all
}

// trimmed is s as it is compared.
func (s shown) trimmed() shown {
	s.Screen = strings.Split(strings.TrimRight(plain(s.Screen), "\n"), "\n")
	return s
}

// ours plays a program on an engine of ours.
type ours engine

func (e ours) play(c *testCase) (shown, error) {
	shot := c.play(engine(e), 0).Snapshot()
	return shown{Screen: shot.Lines, Row: shot.Row, Col: shot.Col, Hidden: shot.Hidden}.trimmed(), nil
}

// headless is xterm without a window, in one process of node.
type headless struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// startHeadless needs node, and SHOAL_XTERM_DIR to say where npm has installed
// @xterm/headless and @xterm/addon-unicode11.
func startHeadless(t *testing.T) *headless {
	dir := os.Getenv("SHOAL_XTERM_DIR")
	if dir == "" {
		t.Skip("no xterm: set SHOAL_XTERM_DIR to where npm has installed @xterm/headless and @xterm/addon-unicode11")
	}
	cmd := exec.Command("node", filepath.Join("testdata", "headless.js"), dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no node: %v", err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &headless{in, bufio.NewReader(out)}
}

func (h *headless) play(c *testCase) (shown, error) {
	type jsonStep struct {
		Write  []byte `json:"write,omitempty"`
		Resize []int  `json:"resize,omitempty"`
	}
	steps := make([]jsonStep, len(c.Steps))
	for i, st := range c.Steps {
		steps[i] = jsonStep{st.Write, st.Resize}
	}
	err := json.NewEncoder(h.in).Encode(map[string]any{"cols": c.Cols, "rows": c.Rows, "steps": steps})
	if err != nil {
		return shown{}, err
	}
	line, err := h.out.ReadBytes('\n')
	if err != nil {
		return shown{}, fmt.Errorf("xterm: %w", err)
	}
	var s struct {
		shown
		Broke string
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return shown{}, err
	}
	if s.Broke != "" {
		return shown{}, fmt.Errorf("%w: %s", errBroke, s.Broke)
	}
	return s.trimmed(), nil
}

// errBroke says that another terminal failed on a program.
var errBroke = errors.New("the terminal broke")

// tmux is a tmux server of our own. Each program runs in its only pane, where
// this test's binary passes bytes on.
type tmux struct {
	dir     string
	listen  net.Listener
	started bool
}

func startTmux(t *testing.T) *tmux {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux: ", err)
	}
	dir, err := os.MkdirTemp("", "shoal-tmux-")
	if err != nil {
		t.Fatal(err)
	}
	listen, err := net.Listen("unix", filepath.Join(dir, "pane"))
	if err != nil {
		t.Fatal(err)
	}
	m := &tmux{dir: dir, listen: listen}
	t.Cleanup(func() {
		m.run("kill-server")
		listen.Close()
		os.RemoveAll(dir)
	})
	return m
}

// run runs one command of tmux.
func (m *tmux) run(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(m.dir, "tmux"), "-f", "/dev/null", "-u"}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, out)
	}
	return string(out), nil
}

func (m *tmux) play(c *testCase) (shown, error) {
	exe, err := os.Executable()
	if err != nil {
		return shown{}, err
	}
	program := fmt.Sprintf("env %s=%s %s", paneEnv, m.listen.Addr(), exe)
	// What the last program has left above the screen would come back when it grows.
	start := []string{"respawn-pane", "-k", "-t", "pane", program, ";", "clear-history", "-t", "pane"}
	if !m.started {
		start = []string{"new-session", "-d", "-s", "pane", program}
	} else if err := m.resize(c.Cols, c.Rows); err != nil {
		return shown{}, err
	}
	if _, err := m.run(start...); err != nil {
		return shown{}, err
	}
	if !m.started {
		m.started = true
		if _, err := m.run("set", "-g", "status", "off", ";", "set", "-g", "remain-on-exit", "on"); err != nil {
			return shown{}, err
		}
		if err := m.resize(c.Cols, c.Rows); err != nil {
			return shown{}, err
		}
	}
	pane, err := m.listen.Accept()
	if err != nil {
		return shown{}, err
	}
	defer pane.Close()
	pane.SetDeadline(time.Now().Add(peerTime))
	for _, st := range c.joined() {
		if st.Resize != nil {
			err = m.resize(st.Resize[0], st.Resize[1])
		} else {
			_, err = send(pane, st.Write)
		}
		if err != nil {
			return shown{}, err
		}
	}
	return m.shown()
}

func (m *tmux) resize(cols, rows int) error {
	_, err := m.run("resize-window", "-t", "pane", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
	return err
}

// peerTime bounds what one program may take on another terminal.
const peerTime = 20 * time.Second

// shown reads the pane.
func (m *tmux) shown() (shown, error) {
	text, err := m.run("capture-pane", "-p", "-t", "pane")
	if err != nil {
		return shown{}, err
	}
	about, err := m.run("display-message", "-p", "-t", "pane", "#{cursor_x} #{cursor_y} #{cursor_flag} #{pane_width}")
	if err != nil {
		return shown{}, err
	}
	var s shown
	var flag, cols int
	if _, err := fmt.Sscan(about, &s.Col, &s.Row, &flag, &cols); err != nil {
		return shown{}, fmt.Errorf("tmux said %q: %w", about, err)
	}
	s.Screen, s.Hidden, s.Col = strings.Split(text, "\n"), flag == 0, min(s.Col, cols-1)
	return s.trimmed(), nil
}

// send gives bytes to the program in a terminal and waits until they have been
// drawn. It returns what the terminal answered.
func send(pane net.Conn, b []byte) ([]byte, error) {
	if err := writeFrame(pane, b); err != nil {
		return nil, err
	}
	answer, err := readFrame(pane)
	return bytes.TrimSuffix(answer, []byte("\x1b[0n")), err
}

func writeFrame(w io.Writer, b []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// paneEnv tells this test's binary to be the program in a terminal, printEnv to
// be its printer; the values are sockets.
const (
	paneEnv  = "SHOAL_TEST_PANE"
	printEnv = "SHOAL_TEST_PRINTER"
)

// endOfPiece gives up an unfinished sequence and asks for the status.
const endOfPiece = "\x18\x1b[5n"

// paneMain writes what comes over the socket to the terminal. After each piece
// it asks the terminal for its status, whose answer says that all has been drawn.
func paneMain(socket string) int {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 1
	}
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	if stty.Run() != nil {
		return 1
	}
	in := bufio.NewReader(os.Stdin)
	for {
		b, err := readFrame(conn)
		if err != nil {
			return 0
		}
		os.Stdout.Write(b)
		os.Stdout.WriteString(endOfPiece)
		var answer []byte
		for !bytes.HasSuffix(answer, []byte("\x1b[0n")) {
			c, err := in.ReadByte()
			if err != nil {
				return 1
			}
			answer = append(answer, c)
		}
		if writeFrame(conn, answer) != nil {
			return 1
		}
	}
}

// printMain copies a printed page to the socket.
func printMain(socket string) int {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 1
	}
	if _, err := io.Copy(conn, os.Stdin); err != nil {
		return 1
	}
	conn.Close()
	return 0
}
