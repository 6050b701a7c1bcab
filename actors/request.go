package actors

import (
	"slices"
	"time"

	"shoal.dev/shoal/messages"
)

// request is a request id in use: its run, or when that is over what its answer
// is remembered under.
type request struct {
	key    string // of the row, and of the table below
	source string // hash of the source
	ts     int64
	run    *Run // nil once it is over
}

// requests are the request ids of a session. The session's lock guards them.
// Answers are read from the journal, so that an id costs little memory.
type requests struct {
	session messages.SessionName
	byKey   map[string]*request
	order   []*request // oldest first; those that were freed or used again are skipped
}

func newRequests(session messages.SessionName) requests {
	return requests{session: session, byKey: map[string]*request{}}
}

// find is the request of an id that is still remembered.
func (q *requests) find(p messages.Principal, id string, now time.Time) *request {
	req := q.byKey[requestKey(q.session, p, id)]
	if req == nil || req.run == nil && req.ts < now.UnixNano()-requestTTLNS {
		return nil
	}
	return req
}

// open notes that a run uses its request id, and gives the rows that remove ids
// which are remembered no longer.
func (q *requests) open(r *Run, now time.Time) []messages.Row {
	gone := q.expire(now)
	if id := r.params.RequestID; id != "" {
		q.put(&request{
			key: requestKey(q.session, r.principal, id), source: sourceHash(r.params.Src),
			ts: r.arrived.UnixNano(), run: r,
		})
	}
	return gone
}

func (q *requests) put(req *request) {
	q.byKey[req.key] = req
	if len(q.order) > 2*len(q.byKey)+64 {
		q.order = slices.DeleteFunc(q.order, func(old *request) bool { return q.byKey[old.key] != old })
	}
	q.order = append(q.order, req)
}

// expire forgets ids that are too old.
func (q *requests) expire(now time.Time) []messages.Row {
	var rows []messages.Row
	for len(q.order) > 0 {
		req := q.order[0]
		if q.byKey[req.key] == req {
			if req.run != nil || req.ts >= now.UnixNano()-requestTTLNS {
				break
			}
			delete(q.byKey, req.key)
			rows = append(rows, messages.Row{Table: tableRequest, Key: req.key})
		}
		q.order[0] = nil
		q.order = q.order[1:]
	}
	return rows
}

// close notes that a run is over; it needs the run's lock too. One that was
// refused did nothing, so its id is free again.
func (q *requests) close(r *Run) {
	if r.params.RequestID == "" {
		return
	}
	req := q.byKey[requestKey(q.session, r.principal, r.params.RequestID)]
	if req == nil || req.run != r {
		return
	}
	req.run = nil
	if !r.remembered {
		delete(q.byKey, req.key)
	}
}

// openRequestRowsLocked note a request id whose run is not over, so that a kernel
// that comes after this one does not run it again.
func (r *Run) openRequestRowsLocked() []messages.Row {
	if r.params.RequestID == "" {
		return nil
	}
	return []messages.Row{r.requestRowLocked(messages.ExecResult{})}
}

// requestRowLocked remembers an answer under the run's request id.
func (r *Run) requestRowLocked(res messages.ExecResult) messages.Row {
	r.remembered = true
	return row(tableRequest, requestKey(r.host.name, r.principal, r.params.RequestID), requestRow{
		SourceHash: sourceHash(r.params.Src), Task: r.id(), Entry: r.entry, TS: r.arrived.UnixNano(),
		JSON: res.JSON, Err: res.Err,
	})
}
