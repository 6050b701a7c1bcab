package link

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"shoal.dev/shoal/messages"
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
	methodList        = `"resources/list"`
	methodCancelled   = `"notifications/cancelled"`
	methodUpdated     = "notifications/resources/updated"
	methodListChanged = "notifications/resources/list_changed"
	methodAcked       = "notifications/subscriptions/acknowledged"
)

const (
	// sinceKey is where a kernel may say, in the _meta of a subscription's
	// result or of a listen request's acknowledgement, after which sequence
	// number it begins; there it is one for each URI.
	sinceKey = "shoal/since"
	// streamKey is where notices say to which listen request they belong.
	streamKey = "io.modelcontextprotocol/subscriptionId"
)

// memory is all that a relay remembers of its client, so that a new kernel can
// be brought to where the old one was. Its methods are called under the relay's
// mutex; frames are copies.
type memory struct {
	open        map[string]*request // the client's requests, by raw id
	asked       map[string]struct{} // the kernel's requests, by raw id
	initialize  []byte              // the frame that was answered with a result
	initialized []byte
	level       []byte
	subscribed  []string         // URIs as the client gave them, in order
	last        map[place]uint64 // last sequence number that the client was told
	arrived     uint64           // requests so far
	answers     uint64           // those that a kernel answered
	listening   int              // ids in open that are listen requests
	listed      bool             // the client has a list of resources that it takes to be fresh
}

// place is where a sequence number counts.
type place struct {
	stream string // raw id of the listen request; "" for resources/subscribe
	uri    string // without query
}

func placeOf(stream, uri string) place {
	base, _, _ := strings.Cut(uri, "?")
	return place{stream, base}
}

// request is an open request of the client.
type request struct {
	count  int    // requests open under this id
	order  uint64 // when the first of them came
	method string // raw, only where the frame is kept
	frame  []byte // only where it leaves a state behind
	acked  bool   // the client was told what the listen request follows
}

func newMemory() memory {
	return memory{open: map[string]*request{}, asked: map[string]struct{}{}, last: map[place]uint64{}}
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
	case string(head.Method) == methodCancelled: // it will not be answered
		if id := string(wire.Member(head.Params, "requestId")); m.open[id] != nil {
			m.drop(id)
		}
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
	case methodList:
		if q.method == "" {
			q.method = methodList
		}
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
	if head.Result == nil {
		return
	}
	switch q.method {
	case methodList:
		m.listed = true
	case methodInitialize:
		m.initialize = q.frame
	case methodSetLevel:
		m.level = q.frame
	case methodSubscribe:
		m.subscribe(subscribedURI(q.frame), head.Result)
	case methodUnsubscribe:
		base := m.unsubscribe(subscribedURI(q.frame))
		delete(m.last, place{uri: base})
	}
}

// drop forgets an open request.
func (m *memory) drop(id string) {
	if m.open[id].method == methodListen {
		m.listening--
		maps.DeleteFunc(m.last, func(p place, _ uint64) bool { return p.stream == id })
	}
	delete(m.open, id)
}

// listens reports whether an open request listens.
func (m *memory) listens(id string) bool {
	q := m.open[id]
	return q != nil && q.method == methodListen
}

func (m *memory) subscribe(uri string, result []byte) {
	base := m.unsubscribe(uri)
	m.subscribed = append(m.subscribed, uri)
	since := wire.Member(wire.Member(result, "_meta"), sinceKey)
	if seq, err := strconv.ParseUint(string(since), 10, 64); err == nil {
		m.last[place{uri: base}] = max(m.last[place{uri: base}], seq)
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
	m.last[placeOf(string(wire.Member(wire.Member(params, "_meta"), streamKey)), uri)] = seq
}

// acknowledged notes what a listen request follows. When the client was told so
// before, by a kernel that is gone, it gives the notices that make the client
// look instead: at what has no sequence number to go on from, and at what is not
// followed any more.
func (m *memory) acknowledged(params []byte) (notices [][]byte, again bool) {
	meta := wire.Member(params, "_meta")
	stream := string(wire.Member(meta, streamKey))
	q := m.open[stream]
	if q == nil || q.method != methodListen {
		return nil, false
	}
	wire.EachMember(wire.Member(meta, sinceKey), func(uri string, value []byte) bool {
		if seq, err := strconv.ParseUint(string(value), 10, 64); err == nil {
			at := placeOf(stream, uri)
			m.last[at] = max(m.last[at], seq)
		}
		return true
	})
	if !q.acked {
		q.acked = true
		return nil, false
	}
	var asked, followed filter
	head, _ := wire.Peek(q.frame)
	json.Unmarshal(wire.Member(head.Params, "notifications"), &asked)
	json.Unmarshal(wire.Member(params, "notifications"), &followed)
	for _, uri := range asked.URIs {
		at := placeOf(stream, uri)
		if _, told := m.last[at]; !told || !slices.Contains(followed.URIs, at.uri) {
			notices = append(notices, notice(methodUpdated, at))
		}
	}
	if asked.List {
		notices = append(notices, notice(methodListChanged, place{stream: stream}))
	}
	return notices, true
}

// stale is the notice that the list of resources of a client with a handshake
// has grown stale, as it does with a new kernel; nil when it has none.
func (m *memory) stale() []byte {
	if !m.listed || m.initialize == nil {
		return nil
	}
	m.listed = false
	return notice(methodListChanged, place{})
}

// filter is what a listen request asks for, as far as a relay needs to know.
type filter struct {
	List bool     `json:"resourcesListChanged"`
	URIs []string `json:"resourceSubscriptions"`
}

// notice tells the client to look.
func notice(method string, at place) []byte {
	params := struct {
		URI  string                     `json:"uri,omitempty"`
		Meta map[string]json.RawMessage `json:"_meta,omitempty"`
	}{URI: at.uri}
	if at.stream != "" {
		params.Meta = map[string]json.RawMessage{streamKey: json.RawMessage(at.stream)}
	}
	return wire.AppendRequest(nil, nil, method, messages.JSON(params))
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
func (m *memory) resumed(stream, uri string) (resumed string, hasSeq bool) {
	base, query, _ := strings.Cut(uri, "?")
	seq, ok := m.last[place{stream, base}]
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
