package messages

import "encoding/json"

// TaskState is where a task stands.
type TaskState string

// The states; the last three are ends.
const (
	TaskQueued     TaskState = "queued"
	TaskRunning    TaskState = "running"
	TaskSuspended  TaskState = "suspended"
	TaskCancelling TaskState = "cancelling"
	TaskCompleted  TaskState = "completed"
	TaskFailed     TaskState = "failed"
	TaskCancelled  TaskState = "cancelled"
)

// Ended reports whether the state is an end state.
func (s TaskState) Ended() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// TaskRecord is what is known of a task. Times are Unix nanoseconds; lengths
// are bytes: *Len all that was printed, *Kept what can still be read.
type TaskRecord struct {
	Task       TaskID          `json:"task"`
	Session    SessionName     `json:"session"`
	Principal  Principal       `json:"principal"`
	Src        string          `json:"src"`
	State      TaskState       `json:"state"`
	StartedNS  int64           `json:"started_ns"`
	FinishedNS *int64          `json:"finished_ns"`
	ResultRef  Ref             `json:"result_ref,omitempty"`
	Error      json.RawMessage `json:"error"`
	Exit       *TaskExit       `json:"exit"`
	StdoutLen  int64           `json:"stdout_len"`
	StderrLen  int64           `json:"stderr_len"`
	StdoutKept int64           `json:"stdout_kept"`
	StderrKept int64           `json:"stderr_kept"`
	Leftovers  []Leftover      `json:"leftovers"`
	Notes      []Note          `json:"notes,omitempty"`
	Usage      *TaskUsage      `json:"usage,omitempty"`
	Method     string          `json:"tree,omitempty"`
}

// TaskExit is how the task's last command ended.
type TaskExit struct {
	Status *int    `json:"status"`
	Signal *string `json:"signal"`
}

// Leftover is a process that outlived its command.
type Leftover struct {
	PID   int    `json:"pid"`
	State string `json:"state"`
	Cmd   string `json:"cmd"`
}

// TaskUsage is what a task's processes used.
type TaskUsage struct {
	CPUMS  int64 `json:"cpu_ms"`
	MaxRSS int64 `json:"max_rss"` // bytes
}

// TaskList is the answer of task.list and shoal://jobs.
type TaskList struct {
	Tasks []TaskRecord `json:"tasks"`
}

// StartTask tells the task registry that a run stands ready in its store.
type StartTask struct{ Task uint64 }

// RunTask asks a session's principal-checked question about one task.
type RunTask struct {
	Op        string // get, cancel, suspend, resume, await, output
	Session   SessionName
	Principal Principal
	Task      TaskID
	TimeoutMS *int64
	Stream    string
	Offset    int64
	Limit     int64
}

// Reply pairs RunTask with its answer.
func (RunTask) Reply(Raw) {}

// ListTasks asks for the tasks of a session, live ones first.
type ListTasks struct {
	Session   SessionName
	Principal Principal
	Live      bool // only those that have not ended
}

// Reply pairs ListTasks with its answer.
func (ListTasks) Reply(TaskList) {}

// TaskStateOf is the answer of task.cancel, suspend and resume.
type TaskStateOf struct {
	Task  TaskID    `json:"task"`
	State TaskState `json:"state"`
}

// TaskOutput is one piece of a task's stream.
type TaskOutput struct {
	Data       *string `json:"data,omitempty"`
	DataBase64 *string `json:"data_base64,omitempty"`
	Offset     int64   `json:"offset"`
	Next       int64   `json:"next"`
	EOF        bool    `json:"eof"`
}

// TaskEvent is the payload of channel task.N.
type TaskEvent struct {
	State     TaskState       `json:"state"`
	ResultRef Ref             `json:"result_ref,omitempty"`
	Error     json.RawMessage `json:"error,omitempty"`
}

// TaskEnded tells a session that a task of its reached its end; the facts are
// in the task store.
type TaskEnded struct{ Task uint64 }
