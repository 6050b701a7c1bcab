package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// processState is a process's state letter.
func processState(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

// standsStill reports whether a process is stopped, or waits for a child that is:
// a shell that started a program with vfork is in D until that child runs or ends.
func standsStill(t *testing.T, pid string) bool {
	t.Helper()
	state := processState(t, pid)
	if state != "D" {
		return state == "T"
	}
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range strings.Fields(string(text)) {
			if processState(t, child) == "T" {
				return true
			}
		}
	}
	return false
}

// A suspended task stands still with its whole process tree, whatever group its
// processes are in, and goes on when it is resumed.
func TestSuspendTree(t *testing.T) {
	_, r := served(t)
	const shell = `^/bin/sh -c 'setsid /bin/sh -c "while :; do echo \$\$; sleep 0.01; done" & while :; do echo $$; sleep 0.01; done'`
	task := r.Background(shell)
	length := func() int64 { return r.Task(task).At("stdout_len").Int() }
	pids := func() []string {
		text := r.Must("task.output", kit.Args{"task": task, "stream": "stdout"}).At("data").Str()
		all := strings.Fields(text)
		slices.Sort(all)
		return slices.Compact(all)
	}
	kit.Eventually(t, quick, "both shells print", func() bool { return len(pids()) == 2 })
	if got := r.Must("task.suspend", kit.Args{"task": task}).At("state").Str(); got != "suspended" {
		t.Errorf("state %s", got)
	}
	for _, pid := range pids() {
		if !standsStill(t, pid) {
			t.Errorf("process %s is %s, want T", pid, processState(t, pid))
		}
	}
	r.Must("task.suspend", kit.Args{"task": task}) // twice is once
	kit.Eventually(t, quick, "what was printed is read", func() bool { a := length(); r.Exec("1"); return a == length() })
	still := length()
	if r.Exec("1 + 1"); length() != still || r.Task(task).At("state").Str() != "suspended" {
		t.Errorf("it printed %d bytes more; record %v", length()-still, r.Task(task))
	}
	if got := r.Must("task.resume", kit.Args{"task": task}).At("state").Str(); got != "running" {
		t.Errorf("state %s", got)
	}
	kit.Eventually(t, quick, "it prints again", func() bool { return length() > still })
	r.Must("task.suspend", kit.Args{"task": task})
	r.Must("task.cancel", kit.Args{"task": task})
	if got := r.Await(task).At("state").Str(); got != "cancelled" {
		t.Errorf("cancelled while suspended: %s", got)
	}
	for _, method := range []string{"task.suspend", "task.resume"} {
		data, _ := r.Refused(messages.CodeTaskControl, method, kit.Args{"task": task})
		if data.At("state").Str() != "cancelled" {
			t.Errorf("%s: got %v", method, data)
		}
		r.Refused(messages.CodeUnknownTask, method, kit.Args{"task": "task:999"})
	}
}
