package value

import (
	"context"
	"unsafe"
)

// TaskHandle is a running or finished task as the language uses it.
type TaskHandle interface {
	// Await waits for the end: the value, or the error that was raised.
	Await(ctx context.Context) (Value, error)
	// Cancel starts the cancellation and does not wait.
	Cancel()
	// Done reports whether the task has ended.
	Done() bool
}

// Suspender is a TaskHandle that can be stopped and continued.
type Suspender interface {
	Suspend(ctx context.Context) error
	Resume(ctx context.Context) error
	Suspended() bool
}

// Task is the object behind a task.
type Task struct {
	kind Kind
	ID   string // "task:N", or "N" where there is no kernel
	H    TaskHandle
}

// NewTask makes a task value.
func NewTask(id string, h TaskHandle) Value {
	return Value{unsafe.Pointer(&Task{KindTask, id, h}), 0}
}

// AsTask is the object behind a task.
func (v Value) AsTask() *Task { return (*Task)(v.p) }
