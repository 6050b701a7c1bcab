package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"os/exec"
	"path/filepath"
)

func (d *demo) exec(src string, more map[string]any) (toolResult, error) {
	args := map[string]any{"src": src}
	for k, v := range more {
		args[k] = v
	}
	return d.c.tool("shoal_exec", args)
}

// want fails the demo when an answer is not what the page says it is.
func want(what string, ok bool) error {
	if !ok {
		return fmt.Errorf("%s: not what was expected", what)
	}
	return nil
}

func (d *demo) inspect() error {
	d.title("Look around: ask for a small record, not for pages of text")
	r, err := d.exec("{cwd: (pwd), files: (ls .).take(20)}", map[string]any{"position": "value"})
	if err != nil {
		return err
	}
	if _, err := d.c.read("shoal://session/reef"); err != nil {
		return err
	}
	return want("inspect", !r.IsError)
}

func (d *demo) execute() error {
	d.title("Run once, keep the reference, look many times")
	r, err := d.exec("let files = ls src\n{ total: files.len(), largest: files.sort_by(.size).reverse().take(1) }", nil)
	if err != nil {
		return err
	}
	ref, _ := r.Structured["ref"].(string)
	if err := want("a reference", ref != ""); err != nil {
		return err
	}
	if _, err := d.c.tool("shoal_get", map[string]any{"ref": ref, "path": ".largest[0].name"}); err != nil {
		return err
	}
	d.title("A failure is a value where you want to look at it, and an error where you do not")
	if _, err := d.exec("let probe = (^false)\n{ probe, answer: 42 }", nil); err != nil {
		return err
	}
	r, err = d.exec("^false", map[string]any{"position": "stmt"})
	if err != nil {
		return err
	}
	return want("statement position raises", r.IsError)
}

func (d *demo) plan() error {
	d.title("Plan, ask, approve, apply, verify")
	src := "cp ./report.csv ./archive/report.csv"
	r, err := d.exec(src, nil)
	if err != nil {
		return err
	}
	if err := want("policy asks first", r.IsError && r.Structured["code"] == float64(-32011)); err != nil {
		return err
	}
	r, err = d.c.tool("shoal_plan", map[string]any{"src": src})
	if err != nil {
		return err
	}
	ref, _ := r.Structured["plan_ref"].(string)
	for _, effects := range [][]string{{"fs.read"}, {"fs.read", "fs.write"}} {
		if _, err := d.c.tool("shoal_cap_request", map[string]any{"plan_ref": ref, "effects": effects}); err != nil {
			return err
		}
	}
	if r, err = d.c.tool("shoal_apply", map[string]any{"plan_ref": ref}); err != nil {
		return err
	}
	if err := want("apply", !r.IsError); err != nil {
		return err
	}
	r, err = d.exec(`(ls ./archive).where(.name == "report.csv").len()`, nil)
	if err != nil {
		return err
	}
	return want("verify", !r.IsError)
}

func (d *demo) background() error {
	d.title("Long work: a task to follow and to cancel")
	r, err := d.exec("sh { i=0; while true; do i=$((i+1)); echo tick $i; sleep 0.05; done }", map[string]any{"background": true})
	if err != nil {
		return err
	}
	task, _ := r.Structured["task"].(string)
	uri := "shoal://task/" + strings.TrimPrefix(task, "task:")
	fmt.Fprintf(d.out, "→ resources/subscribe %s\n", uri)
	if _, err := d.c.call("resources/subscribe", map[string]any{"uri": uri}); err != nil {
		return err
	}
	if _, err := d.c.read(uri); err != nil {
		return err
	}
	if _, err := d.c.tool("shoal_cancel", map[string]any{"task": task}); err != nil {
		return err
	}
	state, err := d.awaitEnd(uri)
	if err != nil {
		return err
	}
	return want("cancelled", state == "cancelled")
}

// awaitEnd waits for the notice that a task has ended.
func (d *demo) awaitEnd(uri string) (string, error) {
	for {
		select {
		case n, open := <-d.c.notices:
			if !open {
				return "", fmt.Errorf("wait for %s: shoal-mcp has ended", uri)
			}
			var p struct {
				URI     string `json:"uri"`
				Payload struct {
					State string `json:"state"`
				} `json:"payload"`
			}
			if n.Method != "notifications/resources/updated" || json.Unmarshal(n.Params, &p) != nil || p.URI != uri {
				continue
			}
			fmt.Fprintf(d.out, "⇠ %s %s\n", n.Method, n.Params)
			if s := p.Payload.State; s == "cancelled" || s == "failed" || s == "completed" {
				return s, nil
			}
		case <-d.ctx.Done():
			return "", fmt.Errorf("wait for %s: %w", uri, d.ctx.Err())
		}
	}
}

func (d *demo) terminal() error {
	d.title("A program that needs a terminal")
	r, err := d.c.tool("shoal_pty_open", map[string]any{"cmd": "sh", "args": []string{"-i"}, "cols": 60, "rows": 6, "env": map[string]string{"PS1": "prompt> "}})
	if err != nil {
		return err
	}
	id, _ := r.Structured["pty_id"].(string)
	send := map[string]any{"pty_id": id, "input": []any{"echo $((6 * 7))", map[string]string{"key": "Enter"}}}
	if _, err := d.c.tool("shoal_pty_send", send); err != nil {
		return err
	}
	read := map[string]any{"pty_id": id, "wait": map[string]any{"regex": "(?m)^42$", "timeout_ms": 10000}}
	if r, err = d.c.tool("shoal_pty_read", read); err != nil {
		return err
	}
	if err := want("the terminal's answer", strings.Contains(fmt.Sprint(r.Structured["screen"]), "42")); err != nil {
		return err
	}
	_, err = d.c.tool("shoal_pty_close", map[string]any{"pty_id": id})
	return err
}

func (d *demo) journal() error {
	d.title("What happened, and who did it")
	r, err := d.c.tool("shoal_journal", map[string]any{"limit": 3})
	if err != nil {
		return err
	}
	return want("journal", !r.IsError)
}

// survive kills the kernel without warning; the next call finds everything.
func (d *demo) survive() error {
	d.title("The kernel is killed with -9; the next call finds everything again")
	if _, err := d.exec("let kept = 7 * 6", nil); err != nil {
		return err
	}
	pid, err := d.kernelPID()
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "  kill -9 %d\n", pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	for range 50 { // the call that meets the death is answered with an error
		r, err := d.exec("{ kept, cwd: (pwd) }", nil)
		if err != nil {
			return err
		}
		if !r.IsError {
			return want("the binding", strings.Contains(fmt.Sprint(r.Structured["render"]), "42"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the kernel did not come back")
}

func (d *demo) kernelPID() (int, error) {
	out, err := exec.Command(filepath.Join(d.bin, "shoal"), "kernel", "status", "--json", "--state-dir", d.state).Output()
	if err != nil {
		return 0, fmt.Errorf("kernel status: %w", err)
	}
	var info struct {
		PID json.Number `json:"pid"`
	}
	if err := json.Unmarshal(out, &info); err != nil {
		return 0, fmt.Errorf("kernel status: %w", err)
	}
	return strconv.Atoi(info.PID.String())
}
