package actors

import (
	"bytes"
	"encoding/json"
	"fmt"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// Interrupted is what an earlier kernel left behind.
type Interrupted struct {
	Killed []proc.Proc           // processes that the sweep ended
	Tails  map[uint64]proc.Tails // newest output by task
}

// RestoreTasks closes the books on tasks that a dead kernel left running: each
// becomes failed with the error interrupted, keeps its newest output, and names
// the processes that were ended.
func RestoreTasks(d *Deps, left Interrupted) error {
	var open []taskRow
	err := d.Journal.Scan(tableTask, "", func(_ string, b []byte) bool {
		var saved taskRow
		if looksEnded(b) {
			return true
		}
		if json.Unmarshal(b, &saved) == nil && !saved.Record.State.Ended() {
			open = append(open, saved)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("read task records: %w", err)
	}
	for _, saved := range open {
		if err := restoreTask(d, saved, left); err != nil {
			return err
		}
	}
	return nil
}

// looksEnded finds most records of ended tasks without decoding them, as there
// may be very many. Within a JSON string the quotes would be escaped.
func looksEnded(b []byte) bool {
	for _, s := range []messages.TaskState{messages.TaskCompleted, messages.TaskFailed, messages.TaskCancelled} {
		if bytes.Contains(b, []byte(`"state":"`+string(s)+`"`)) {
			return true
		}
	}
	return false
}

func restoreTask(d *Deps, saved taskRow, left Interrupted) error {
	rec := saved.Record
	num, _ := rec.Task.Num()
	now := d.Now().UnixNano()
	rec.State, rec.FinishedNS = messages.TaskFailed, &now
	rec.Leftovers = []messages.Leftover{}
	killed := 0
	for _, p := range left.Killed {
		if p.Task == num {
			killed++
			rec.Leftovers = append(rec.Leftovers, messages.Leftover{PID: p.PID, State: "killed", Cmd: p.Cmd})
		}
	}
	rec.Error = messages.JSON(map[string]any{
		"code":   "interrupted",
		"msg":    fmt.Sprintf("the kernel died while the task was %s; %d of its processes were found and ended", saved.Record.State, killed),
		"reason": "kernel_lost",
	})
	tails, ok := left.Tails[num]
	var rows []messages.Row
	if ok {
		rec.StdoutLen, rec.StderrLen = tails.StdoutTotal, tails.StderrTotal
		rec.StdoutKept, rec.StderrKept = int64(len(tails.Stdout)), int64(len(tails.Stderr))
		rows = append(rows, tailRow(num, "stdout", tails.Stdout, tails.StdoutTotal),
			tailRow(num, "stderr", tails.Stderr, tails.StderrTotal))
	}
	rows = append(rows, row(tableTask, numKey(num), taskRow{rec, saved.Entry}))
	a := d.write(messages.Record{
		Key: fmt.Sprintf("task-%d-interrupted", num), Rows: rows,
		Events: []messages.Draft{{
			Key:     messages.ChannelKey{Session: rec.Session, Name: rec.Task.Channel()},
			Payload: messages.JSON(messages.TaskEvent{State: rec.State, Error: rec.Error}),
		}},
	})
	if a.Err != nil {
		return fmt.Errorf("write record of %s: %w", rec.Task, a.Err)
	}
	return nil
}

// tailRow keeps the newest output of one stream.
func tailRow(num uint64, stream string, data []byte, total int64) messages.Row {
	return row(tableTaskOut, taskOutKey(num, stream), savedStream{total - int64(len(data)), data})
}
