package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

type listTasksParams struct {
	Live bool `json:"live"`
}

func (b *backend) listTasks(p listTasksParams) (wire.Call, *messages.Error) {
	return ask(b, b.g.o.To.Tasks, messages.ListTasks{Session: b.session, Principal: b.principal, Live: p.Live},
		encoded[messages.TaskList]), nil
}

type taskParams struct {
	Task string `json:"task" wire:"required"`
}

// taskOp serves a method that needs nothing but the task.
func taskOp(op string) handler {
	return with(func(b *backend, p taskParams) (wire.Call, *messages.Error) {
		return b.askTask(messages.RunTask{Op: op, Task: taskID(p.Task)}), nil
	})
}

func (b *backend) askTask(m messages.RunTask) *askCall[messages.Raw] {
	m.Session, m.Principal = b.session, b.principal
	return ask(b, b.g.o.To.Tasks, m, raw)
}

type awaitTaskParams struct {
	Task      string `json:"task" wire:"required"`
	TimeoutMS *int64 `json:"timeout_ms"`
}

// awaitPiece is how long one question about a task's end waits. Its answer is
// given up with the caller only after that, so it must not be long.
const awaitPiece = 10 * time.Second

// awaitTask waits as long as its caller does.
func (b *backend) awaitTask(p awaitTaskParams) (wire.Call, *messages.Error) {
	if p.TimeoutMS != nil && *p.TimeoutMS < 1 {
		return nil, messages.Errorf(messages.CodeInvalidParams, "timeout_ms: expected an integer of at least 1, not %d", *p.TimeoutMS)
	}
	return funcCall(func(ctx context.Context) (json.RawMessage, *messages.Error) {
		began := time.Now()
		for {
			piece := awaitPiece.Milliseconds()
			last := p.TimeoutMS != nil && *p.TimeoutMS-time.Since(began).Milliseconds() <= piece
			if last {
				piece = max(1, *p.TimeoutMS-time.Since(began).Milliseconds())
			}
			answer, err := b.askTask(messages.RunTask{Op: "await", Task: taskID(p.Task), TimeoutMS: &piece}).Wait(ctx)
			var rec struct {
				State messages.TaskState `json:"state"`
			}
			if err != nil || last || json.Unmarshal(answer, &rec) != nil || rec.State.Ended() {
				return answer, err
			}
		}
	}), nil
}

type taskOutputParams struct {
	Task   string `json:"task" wire:"required"`
	Stream string `json:"stream" wire:"required"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

func (b *backend) taskOutput(p taskOutputParams) (wire.Call, *messages.Error) {
	return b.askTask(messages.RunTask{
		Op: "output", Task: taskID(p.Task), Stream: p.Stream, Offset: p.Offset, Limit: p.Limit,
	}), nil
}

// taskID accepts a task's id and its URI.
func taskID(s string) messages.TaskID {
	if rest, ok := strings.CutPrefix(s, "shoal://task/"); ok {
		return messages.TaskID("task:" + rest)
	}
	return messages.TaskID(s)
}
