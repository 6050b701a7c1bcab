package link

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"shoal.dev/shoal/wire"
)

// MCP methods that leave a state behind which a new kernel must be told.
const (
	methodInitialize  = `"initialize"`
	methodInitialized = `"notifications/initialized"`
	methodSetLevel    = `"logging/setLevel"`
	methodSubscribe   = `"resources/subscribe"`
	methodUnsubscribe = `"resources/unsubscribe"`
	methodListen      = `"subscriptions/listen"`
	methodUpdated     = "notifications/resources/updated"
)

// sinceKey is where a kernel may say, in the _meta of a subscription's result,
// after which sequence number it begins.
const sinceKey = "shoal/since"

// memory is all that a relay remembers of its client, so that a new kernel can
// be brought to where the old one was. Its methods are called under the relay's
// mutex; frames are copies.
type memory struct {
	open        map[string]*request // the client's requests, by raw id
	asked       map[string]struct{} // the kernel's requests, by raw id
	initialize  []byte              // the frame that was answered with a result
	initialized []byte
	level       []byte
	subscribed  []string          // URIs as the client gave them, in order
	last        map[string]uint64 // last sequence number by URI without query
	arrived     uint64            // requests so far
	answers     uint64            // those that a kernel answered
	listening   int               // ids in open that are listen requests
}

// request is an open request of the client.
type request struct {
	count  int    // requests open under this id
	order  uint64 // when the first of them came
	method string // raw, only where the frame is kept
	frame  []byte // only where it leaves a state behind
}

func newMemory() memory {
	return memory{open: map[string]*request{}, asked: map[string]struct{}{}, last: map[string]uint64{}}
}

// fromClient notes a frame on its way to the kernel, and reports whether it is
// to go there: answers to questions that no living kernel asked are not.
func (m *memory) fromClient(head wire.Head, frame []byte) bool {
	switch {
	case head.IsReply() && (head.Result != nil || head.Error != nil):
		_, asked := m.asked[string(head.ID)]
		delete(m.asked, string(head.ID))
		return asked
	case head.IsRequest():
		m.opened(head, frame)
	case string(head.Method) == methodInitialized:
		m.initialized = bytes.Clone(frame)
	}
	return true
}

func (m *memory) opened(head wire.Head, frame []byte) {
	q := m.open[string(head.ID)]
	if q == nil {
		m.arrived++
		q = &request{order: m.arrived}
		m.open[string(head.ID)] = q
	}
	q.count++
	switch string(head.Method) {
	case methodInitialize, methodSetLevel, methodSubscribe, methodUnsubscribe, methodListen:
		if q.method == methodListen {
			m.listening--
		}
		if string(head.Method) == methodListen {
			m.listening++
		}
		q.method, q.frame = string(head.Method), bytes.Clone(frame)
	}
}

// answered notes the kernel's reply to a request of the client.
func (m *memory) answered(head wire.Head) {
	q := m.open[string(head.ID)]
	if q == nil {
		return
	}
	m.answers++
	if q.count--; q.count == 0 {
		m.drop(string(head.ID))
	}
	if q.frame == nil || head.Result == nil {
		return
	}
	switch q.method {
	case methodInitialize:
		m.initialize = q.frame
	case methodSetLevel:
		m.level = q.frame
	case methodSubscribe:
		m.subscribe(subscribedURI(q.frame), head.Result)
	case methodUnsubscribe:
		base := m.unsubscribe(subscribedURI(q.frame))
		delete(m.last, base)
	}
}

// drop forgets an open request.
func (m *memory) drop(id string) {
	if m.open[id].method == methodListen {
		m.listening--
	}
	delete(m.open, id)
}

func (m *memory) subscribe(uri string, result []byte) {
	base := m.unsubscribe(uri)
	m.subscribed = append(m.subscribed, uri)
	since := wire.Member(wire.Member(result, "_meta"), sinceKey)
	if seq, err := strconv.ParseUint(string(since), 10, 64); err == nil {
		m.last[base] = max(m.last[base], seq)
	}
}

// unsubscribe forgets a subscription, which is named by its URI less the query.
func (m *memory) unsubscribe(uri string) (base string) {
	base, _, _ = strings.Cut(uri, "?")
	m.subscribed = slices.DeleteFunc(m.subscribed, func(have string) bool {
		b, _, _ := strings.Cut(have, "?")
		return b == base
	})
	return base
}

// noticed notes how far a subscription has come.
func (m *memory) noticed(params []byte) {
	seq, err := strconv.ParseUint(string(wire.Member(params, "seq")), 10, 64)
	var uri string
	if err != nil || json.Unmarshal(wire.Member(params, "uri"), &uri) != nil {
		return
	}
	base, _, _ := strings.Cut(uri, "?")
	m.last[base] = seq
}

// forsake empties what was open with a kernel that is gone: the ids that the
// client waits for, in order and as often as it does, and those that the kernel
// asked. Requests that are repeated to the next kernel stay open, unless all
// says that there will be none.
func (m *memory) forsake(all bool) (open, asked []json.RawMessage) {
	requests := make([]string, 0, len(m.open))
	for id, q := range m.open {
		if all || q.method != methodInitialize && q.method != methodListen {
			requests = append(requests, id)
		}
	}
	slices.SortFunc(requests, func(a, b string) int {
		return int(int64(m.open[a].order) - int64(m.open[b].order))
	})
	for _, id := range requests {
		for range m.open[id].count {
			open = append(open, json.RawMessage(id))
		}
		m.drop(id)
	}
	for id := range m.asked {
		asked = append(asked, json.RawMessage(id))
	}
	clear(m.asked)
	return open, asked
}

// resumed is the URI under which a subscription goes on where it stopped.
func (m *memory) resumed(uri string) (resumed string, hasSeq bool) {
	base, query, _ := strings.Cut(uri, "?")
	seq, ok := m.last[base]
	if !ok {
		return uri, false
	}
	kept := []string{"since=" + strconv.FormatUint(seq, 10)}
	for _, part := range strings.Split(query, "&") {
		if part != "" && !strings.HasPrefix(part, "since=") {
			kept = append(kept, part)
		}
	}
	return base + "?" + strings.Join(kept, "&"), true
}

func subscribedURI(frame []byte) string {
	head, _ := wire.Peek(frame)
	var uri string
	if json.Unmarshal(wire.Member(head.Params, "uri"), &uri) != nil {
		return ""
	}
	return uri
}
