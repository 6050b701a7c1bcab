package proc

import (
	"strconv"
	"strings"
)

// MarkVar is the variable by which a kernel finds its processes again; its
// value is "<kernel id>/<owner>", where the owner is a task's number or the
// name of another owner such as a terminal.
const MarkVar = "SHOAL_TASK"

// spawnVar tells the commands of one task apart, so that cancelling one does
// not touch what another left running.
const spawnVar = "SHOAL_SPAWN"

// PinnedEnv are the variables that keep captured commands from waiting for
// somebody or colouring their output. Each may be overridden by the caller.
//
// The editor is an inline script because no path is sure to exist inside a
// sandbox. Programs that run their editor through a shell show its message;
// those that split it into words fail on the quote, which refuses as well.
func PinnedEnv() []string {
	const editor = `sh -c 'echo "no editor in a captured command: pass the text by option or file, or open a terminal" >&2; exit 1'`
	return []string{
		"TERM=dumb", "NO_COLOR=1",
		"PAGER=cat", "GIT_PAGER=cat", "GH_PAGER=cat",
		"GIT_TERMINAL_PROMPT=0",
		"EDITOR=" + editor, "VISUAL=" + editor, "GIT_EDITOR=" + editor,
	}
}

// Mark returns env with the task's mark in it, in place of any other. Run does
// so itself; it is exported for those who start processes by other means.
func Mark(env []string, kernelID string, task uint64) []string {
	return MarkOwner(env, kernelID, owner(task))
}

// MarkOwner is Mark for an owner that is no task.
func MarkOwner(env []string, kernelID, who string) []string {
	out := make([]string, 0, len(env)+2)
	for _, kv := range env {
		if !strings.HasPrefix(kv, MarkVar+"=") && !strings.HasPrefix(kv, spawnVar+"=") {
			out = append(out, kv)
		}
	}
	return append(out, MarkVar+"="+kernelID+"/"+who)
}

// MarkFor is MarkOwner with the runner's kernel id.
func (r *Runner) MarkFor(env []string, who string) []string {
	return MarkOwner(env, r.opts.KernelID, who)
}

// unmark is the reverse of the mark's value for one kernel: whose process it
// is, and the task's number when it is a task's.
func unmark(value, kernelID string) (who string, task uint64, ok bool) {
	who, ok = strings.CutPrefix(value, kernelID+"/")
	if !ok || who == "" {
		return "", 0, false
	}
	task, _ = strconv.ParseUint(who, 10, 64)
	return who, task, true
}
