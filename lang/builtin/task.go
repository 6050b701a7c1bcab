package builtin

import (
	"strconv"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

func taskID(c *interp.Call, _ []value.Value) (value.Value, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(c.Recv.AsTask().ID, "task:"), 10, 64)
	if err != nil { // of a task that is kept no longer
		return value.Null, codeErr(c.Span, value.CodeNotFound, "%s has no number", value.Inline(c.Recv))
	}
	return value.Int(n), nil
}

func taskAwait(c *interp.Call, _ []value.Value) (value.Value, error) {
	return c.Recv.AsTask().H.Await(c.M.Context())
}

func taskCancel(c *interp.Call, _ []value.Value) (value.Value, error) {
	c.Recv.AsTask().H.Cancel()
	return value.Null, nil
}

func taskIsDone(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Bool(c.Recv.AsTask().H.Done()), nil
}

// suspender is the task's handle if its host can stop tasks.
func suspender(c *interp.Call) (value.Suspender, error) {
	if s, ok := c.Recv.AsTask().H.(value.Suspender); ok {
		return s, nil
	}
	return nil, argErr(c.Span, "%s: this host cannot suspend tasks", c.Name)
}

func taskSuspend(c *interp.Call, _ []value.Value) (value.Value, error) {
	s, err := suspender(c)
	if err != nil {
		return value.Null, err
	}
	return c.Recv, hostErr(c, s.Suspend(c.M.Context()))
}

func taskResume(c *interp.Call, _ []value.Value) (value.Value, error) {
	s, err := suspender(c)
	if err != nil {
		return value.Null, err
	}
	return c.Recv, hostErr(c, s.Resume(c.M.Context()))
}

func taskIsSuspended(c *interp.Call, _ []value.Value) (value.Value, error) {
	s, ok := c.Recv.AsTask().H.(value.Suspender)
	return value.Bool(ok && s.Suspended()), nil
}
