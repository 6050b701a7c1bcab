package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// paneEnv tells this program to be the one in a terminal; it is the socket to
// report to.
const paneEnv = "SHOAL_BENCH_PANE"

// peerMost bounds what a terminal may take to draw a data set.
const peerMost = 2 * time.Minute

// wakeCall as the argument of a program in a terminal asks for wakes instead of
// a file.
const wakeCall = "-wake"

// paneMain is the program in a terminal. Once told to, it writes a file and
// reports how many seconds it took until the terminal had drawn it: until it
// answered a question behind it.
func paneMain(socket, file string) int {
	stty := exec.Command("stty", "raw", "-echo")
	stty.Stdin = os.Stdin
	conn, err := net.Dial("unix", socket)
	if err = errors.Join(err, stty.Run()); err != nil {
		return 1
	}
	defer conn.Close()
	if file == wakeCall {
		return wakeMain(conn)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return 1
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return 1
	}
	in, end := bufio.NewReader(os.Stdin), make(chan bool)
	start := time.Now()
	go func() {
		defer close(end)
		var answers []byte
		for !bytes.HasSuffix(answers, []byte("\x1b[0n")) {
			c, err := in.ReadByte()
			if err != nil {
				return
			}
			answers = append(answers, c)
		}
	}()
	os.Stdout.Write(data)
	os.Stdout.WriteString("\x18\x1b[5n")
	<-end
	if json.NewEncoder(conn).Encode(time.Since(start).Seconds()) != nil {
		return 1
	}
	return 0
}

// wakeMain writes each line that comes over the socket to the terminal, and
// answers with the time of that.
func wakeMain(conn net.Conn) int {
	in := bufio.NewScanner(conn)
	for in.Scan() {
		at := time.Now().UnixNano()
		fmt.Fprintf(os.Stdout, "%s\r\n", in.Text())
		fmt.Fprintln(conn, at)
	}
	return 0
}

// pane is this program in some terminal.
type pane struct {
	conn net.Conn
	in   *bufio.Reader
}

func (p *pane) close() { p.conn.Close() }

// draw has the file drawn: seconds, and how many of the process that draws.
func (p *pane) draw(drawer int) (took, worked float64, err error) {
	before, err := workedBy(drawer)
	if err != nil {
		return 0, 0, err
	}
	if _, err := p.conn.Write([]byte{'\n'}); err != nil {
		return 0, 0, err
	}
	if err := json.NewDecoder(p.in).Decode(&took); err != nil {
		return 0, 0, fmt.Errorf("the program in the terminal said nothing: %w", err)
	}
	after, err := workedBy(drawer)
	return took, after - before, err
}

// wake has a line written and returns when that was.
func (p *pane) wake(line string) (time.Time, error) {
	if _, err := fmt.Fprintln(p.conn, line); err != nil {
		return time.Time{}, err
	}
	answer, err := p.in.ReadString('\n')
	if err != nil {
		return time.Time{}, fmt.Errorf("the program in the terminal said nothing: %w", err)
	}
	at, err := strconv.ParseInt(strings.TrimSpace(answer), 10, 64)
	return time.Unix(0, at), err
}

// inPane has start run this program in a terminal, and waits until it is there.
func (b *bench) inPane(argument string, start func(exe, socket string) error) (*pane, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.root, "pane")
	if err != nil {
		return nil, err
	}
	report, err := net.Listen("unix", filepath.Join(dir, "report"))
	if err != nil {
		return nil, err
	}
	defer report.Close()
	if err := start(exe, report.Addr().String()); err != nil {
		return nil, err
	}
	report.(*net.UnixListener).SetDeadline(time.Now().Add(peerMost))
	conn, err := report.Accept()
	if err != nil {
		return nil, fmt.Errorf("the program in the terminal did not start: %w", err)
	}
	conn.SetDeadline(time.Now().Add(peerMost))
	return &pane{conn, bufio.NewReader(conn)}, nil
}

// drawTmux is what a detached tmux takes: seconds, and seconds of its processor
// time.
func (b *bench) drawTmux(o output) (took, worked float64, err error) {
	if _, err := exec.LookPath("tmux"); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", errAbsent, err)
	}
	data, err := b.dataFile(o)
	if err != nil {
		return 0, 0, err
	}
	dir, err := os.MkdirTemp(b.root, "tmux")
	if err != nil {
		return 0, 0, err
	}
	tmux := func(args ...string) (string, error) {
		cmd := exec.CommandContext(b.ctx, "tmux", append([]string{"-u", "-S", filepath.Join(dir, "tmux"), "-f", "/dev/null"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("tmux: %w: %.200s", err, out)
		}
		return string(out), err
	}
	defer tmux("kill-server")
	pane, err := b.inPane(data, func(exe, socket string) error {
		_, err := tmux("new-session", "-d", "-x", strconv.Itoa(terminalCols), "-y", strconv.Itoa(terminalRows),
			fmt.Sprintf("env %s=%s %s %s", paneEnv, socket, exe, data))
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	defer pane.close()
	answer, err := tmux("display-message", "-p", "#{pid}")
	if err != nil {
		return 0, 0, err
	}
	server, err := strconv.Atoi(strings.TrimSpace(answer))
	if err != nil {
		return 0, 0, err
	}
	return pane.draw(server)
}

// workedBy is the seconds of processor time that the threads of a process
// have had.
func workedBy(pid int) (float64, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0, err
	}
	var total float64
	for _, name := range threads {
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has ended meanwhile
		}
		var running float64
		if _, err := fmt.Sscan(string(text), &running); err != nil {
			return 0, fmt.Errorf("%w: %s: %w", errAbsent, name, err)
		}
		total += running / 1e9
	}
	if total == 0 {
		return 0, fmt.Errorf("%w: processor time of process %d", errAbsent, pid)
	}
	return total, nil
}
