package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// sendFor sends a frame that belongs to the request with that raw id, if any.
func (p *peer) sendFor(id json.RawMessage, frame []byte) error {
	if s, ok := p.conn.(Streams); ok && id != nil {
		return s.SendFor(id, frame)
	}
	return p.conn.Send(frame)
}

// listen is an open subscriptions/listen request: one stream of notices.
type listen struct {
	p       *peer
	id      json.RawMessage
	level   string
	list    bool // of resources: its changes are told
	wanted  []followable
	follows []*subscription
}

// listen opens a stream of notices that lasts until the client cancels it or the
// connection ends. What it acknowledges is what it follows: of several resources
// those that are not there are left out.
func (p *peer) listen(req request) (job, *messages.Error) {
	l := &listen{p: p, id: slices.Clone(req.id), level: req.meta.level}
	if refusal := l.read(member(req.params, "notifications")); refusal != nil {
		return job{}, refusal
	}
	begin := make(chan struct{})
	return job{inOrder: true, effect: begin, run: func(ctx context.Context) (json.RawMessage, *messages.Error) {
		defer l.stop()
		refusal := l.follow(ctx, begin)
		if refusal == nil {
			refusal = l.acknowledge()
		}
		if refusal != nil {
			return nil, refusal
		}
		close(begin)
		if len(l.follows) > 0 {
			select {
			case <-ctx.Done():
			case <-p.ending:
			}
		}
		return l.end(), nil
	}}, nil
}

// read reads what the client wants to hear of. This server's tools and prompts
// never change, and what it does not know it does not promise.
func (l *listen) read(wanted []byte) *messages.Error {
	if wanted == nil || wanted[0] != '{' {
		return messages.Errorf(messages.CodeInvalidParams, "notifications: expected an object that names what to hear of")
	}
	l.list = string(member(wanted, "resourcesListChanged")) == "true"
	uris := member(wanted, "resourceSubscriptions")
	if uris == nil || string(uris) == "null" {
		return nil
	}
	var list []string
	if json.Unmarshal(uris, &list) != nil {
		return messages.Errorf(messages.CodeInvalidParams, "notifications.resourceSubscriptions: expected an array of URIs")
	}
	for _, uri := range list {
		f, refusal := readFollowable(uri)
		if refusal != nil {
			return readError(refusal, true)
		}
		if !slices.ContainsFunc(l.wanted, func(w followable) bool { return w.uri == f.uri }) {
			l.wanted = append(l.wanted, f)
		}
	}
	return nil
}

// follow begins what is wanted. It refuses when nothing of it is there.
func (l *listen) follow(ctx context.Context, begin <-chan struct{}) *messages.Error {
	var refused *messages.Error
	name := followed{stream: string(l.id), level: l.level}
	if l.list {
		sub, refusal := l.p.followView(ctx, name, listView, begin)
		if refusal != nil {
			return refusal
		}
		l.follows = append(l.follows, sub)
	}
	for _, f := range l.wanted {
		name.uri = f.uri
		sub, refusal := l.p.follows(ctx, name, f, begin)
		switch {
		case refusal == nil:
			l.follows = append(l.follows, sub)
		case refusal.Code == messages.CodeQuota || isBridge(refusal):
			return readError(refusal, true)
		default:
			refused = refusal
		}
	}
	if len(l.follows) == 0 && refused != nil {
		return readError(refused, true)
	}
	return nil
}

// acknowledge says what is followed, and after which events the notices begin.
func (l *listen) acknowledge() *messages.Error {
	agreed := mcp.SubscriptionFilter{}
	since := map[string]uint64{}
	for _, sub := range l.follows {
		if sub.list {
			agreed.ResourcesListChanged = true
			continue
		}
		agreed.ResourceSubscriptions = append(agreed.ResourceSubscriptions, sub.uri)
		if seq := sub.lastSeq(); seq != nil {
			since[sub.uri] = *seq
		}
	}
	params := append([]byte(`{"notifications":`), messages.JSON(agreed)...)
	params = appendStream(append(params, `,"_meta":{`...), l.id)
	if len(since) > 0 {
		params = append(append(params, `,"shoal/since":`...), messages.JSON(since)...)
	}
	if l.p.sendFor(l.id, notificationFrame(mcp.MethodNotificationSubscriptionsAcknowledged, append(params, `}}`...))) != nil {
		return messages.Errorf(messages.CodeInterrupted, "the connection has ended")
	}
	return nil
}

// end is the answer with which the stream ends in order.
func (l *listen) end() json.RawMessage {
	dst := appendStream([]byte(`{"resultType":"complete","_meta":{`), l.id)
	return append(l.p.s.appendInfo(append(dst, ',')), `}}`...)
}

func (l *listen) stop() {
	for _, sub := range l.follows {
		l.p.subs.take(sub.followed)
		sub.stop()
	}
}

// appendStream appends the member that names the stream of a notice.
func appendStream(dst []byte, id json.RawMessage) []byte {
	dst = append(messages.AppendString(dst, mcp.MetaKeySubscriptionID), ':')
	return appendRaw(dst, id)
}
