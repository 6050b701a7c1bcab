package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// privateID starts the ids of requests that the relay makes for itself. The
// control character keeps them apart from any id that a client would choose.
const privateID = `"\u001fshoal-relay:`

const (
	initializeID = privateID + `initialize"`
	levelID      = privateID + `level"`
)

// reinitialize repeats the handshake of a client that has had one, and waits for
// the answer, since nothing may precede it. It reports whether the kernel lived
// to give one; the error is its refusal.
func (r *relay) reinitialize(conn *wire.Conn) (alive bool, err error) {
	r.mu.Lock()
	frame := r.memory.initialize
	r.mu.Unlock()
	if frame == nil {
		return true, nil
	}
	conn.SetReadDeadline(time.Now().Add(attachTimeout))
	conn.Send(withID(frame, initializeID)) // a loss shows by reading
	for {
		line, err := conn.NextRaw()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false, fmt.Errorf("initialize again: %w", errSlow)
		}
		if err != nil {
			return false, nil
		}
		head, _ := wire.PeekReply(line)
		switch {
		case string(head.ID) == initializeID && head.Method == nil:
			conn.SetReadDeadline(time.Time{})
			return true, refusalOf(head)
		case r.kernelFrame(line):
			r.write(line)
			r.flush()
		}
	}
}

// restore repeats the rest of the client's state, in the order in which a client
// would have said it, and lets the client through.
func (r *relay) restore(conn *wire.Conn) {
	r.mu.Lock()
	frames, stale := r.memory.restoration(), r.memory.stale()
	r.mu.Unlock()
	if stale != nil {
		r.write(stale)
		r.flush()
	}
	for _, frame := range frames {
		conn.Send(frame)
	}
	r.goUp(conn)
}

// restoration lists what a new kernel must be told after the handshake.
func (m *memory) restoration() [][]byte {
	var frames [][]byte
	for _, q := range m.openInOrder(methodInitialize) {
		frames = append(frames, slices.Clone(q.frame))
	}
	if m.initialized != nil && m.initialize != nil {
		frames = append(frames, slices.Clone(m.initialized))
	}
	if m.level != nil {
		frames = append(frames, withID(m.level, levelID))
	}
	for i, uri := range m.subscribed {
		resumed, _ := m.resumed("", uri)
		params := messages.JSON(map[string]string{"uri": resumed})
		id := json.RawMessage(privateID + strconv.Itoa(i) + `"`)
		frames = append(frames, wire.AppendRequest(nil, id, "resources/subscribe", params))
	}
	for _, q := range m.openInOrder(methodListen) {
		frames = append(frames, m.relisten(q.frame))
	}
	return frames
}

func (m *memory) openInOrder(method string) []*request {
	var list []*request
	for _, q := range m.open {
		if q.method == method {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return int(int64(a.order) - int64(b.order)) })
	return list
}

// relisten is an open listen request whose resources go on where they stopped.
// Its id is the client's: the request was never answered.
func (m *memory) relisten(frame []byte) []byte {
	frame = slices.Clone(frame)
	head, _ := wire.Peek(frame)
	list := wire.Member(wire.Member(head.Params, "notifications"), "resourceSubscriptions")
	var uris []string
	if json.Unmarshal(list, &uris) != nil {
		return frame
	}
	for i, uri := range uris {
		uris[i], _ = m.resumed(string(head.ID), uri)
	}
	return splice(frame, list, messages.JSON(uris))
}

// kernelFrame notes a frame of the kernel and reports whether it is the
// client's.
func (r *relay) kernelFrame(line []byte) bool {
	head, ok := wire.PeekReply(line)
	if !ok {
		return true
	}
	switch {
	case head.IsReply() && strings.HasPrefix(string(head.ID), privateID):
		r.resubscribed(head)
		return false
	case head.IsReply():
		r.mu.Lock()
		if r.stopped && r.memory.listens(string(head.ID)) { // the next kernel goes on with it
			r.mu.Unlock()
			return false
		}
		r.memory.answered(head)
		r.mu.Unlock()
		r.settle()
	case head.ID != nil:
		r.mu.Lock()
		r.memory.asked[string(head.ID)] = struct{}{}
		r.mu.Unlock()
	case head.MethodIs(wire.MethodGoodbye):
		r.mu.Lock()
		r.stopped = true
		r.mu.Unlock()
		return false
	case head.MethodIs(methodUpdated):
		r.mu.Lock()
		r.memory.noticed(head.Params)
		r.mu.Unlock()
	case head.MethodIs(methodListChanged):
		if wire.Member(wire.Member(head.Params, "_meta"), streamKey) == nil {
			r.mu.Lock()
			r.memory.listed = false
			r.mu.Unlock()
		}
	case head.MethodIs(methodAcked):
		r.mu.Lock()
		notices, again := r.memory.acknowledged(head.Params)
		r.mu.Unlock()
		for _, frame := range notices {
			r.write(frame)
		}
		return !again
	}
	return true
}

// resubscribed looks at the answer to a repeated subscription. One without a
// sequence number may have missed something, and one that was refused will never
// say anything again: both get a notice, which makes the client look.
func (r *relay) resubscribed(head wire.Head) {
	number := strings.TrimSuffix(strings.TrimPrefix(string(head.ID), privateID), `"`)
	i, err := strconv.Atoi(number)
	r.mu.Lock()
	if err != nil || i < 0 || i >= len(r.memory.subscribed) {
		r.mu.Unlock()
		return
	}
	uri := r.memory.subscribed[i]
	_, hasSeq := r.memory.resumed("", uri)
	r.mu.Unlock()
	if hasSeq && head.Error == nil {
		return
	}
	if head.Error != nil {
		r.log.Warn("subscription was not resumed", "uri", uri)
	}
	r.write(notice(methodUpdated, placeOf("", uri)))
	r.flush()
}

func refusalOf(head wire.Head) error {
	if head.Error == nil {
		return nil
	}
	refusal := new(messages.Error)
	if err := json.Unmarshal(head.Error, refusal); err != nil {
		return fmt.Errorf("initialize again: %w", err)
	}
	return refusal
}

// withdrawn tells the client that the kernel no longer waits for its answer.
func withdrawn(id json.RawMessage) []byte {
	params := messages.JSON(map[string]any{"requestId": id, "reason": "the kernel was lost"})
	return wire.AppendRequest(nil, nil, "notifications/cancelled", params)
}

// withID is the frame under another id.
func withID(frame []byte, id string) []byte {
	head, _ := wire.Peek(frame)
	return splice(frame, head.ID, []byte(id))
}

// splice replaces part, which lies within frame, in a copy.
func splice(frame, part, with []byte) []byte {
	at := cap(frame) - cap(part) // where part starts, as both end at one array's end
	changed := make([]byte, 0, len(frame)+len(with))
	changed = append(changed, frame[:at]...)
	changed = append(changed, with...)
	return append(changed, frame[at+len(part):]...)
}
