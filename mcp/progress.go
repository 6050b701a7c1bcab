package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

const (
	// progressFirst is how long a call runs before its first progress is told.
	progressFirst = 250 * time.Millisecond
	// progressEvery is the time between two tellings.
	progressEvery = time.Second
)

// progress tells the client how long a call has been running, until stop is
// called; nothing is told after that. Progress is in milliseconds.
func (p *peer) progress(id, token json.RawMessage) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		started := time.Now()
		for pause := progressFirst; sleep(ctx, pause); pause = progressEvery {
			ran := time.Since(started)
			params := appendRaw([]byte(`{"progressToken":`), token)
			params = appendInt(append(params, `,"progress":`...), ran.Milliseconds())
			params = messages.AppendString(append(params, `,"message":`...), fmt.Sprintf("running for %.1f s", ran.Seconds()))
			if p.sendFor(id, notificationFrame("notifications/progress", append(params, '}'))) != nil {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// origin is the request that a log message is about.
type origin struct {
	id   json.RawMessage // nil: it is about none
	meta meta
}

// log sends a log message to a client that wants its level: the one of its
// connection, or in the stateless era the one of the request.
func (p *peer) log(about origin, level mcp.LoggingLevel, text string) {
	least := mcp.LoggingLevel(about.meta.level)
	if !about.meta.stateless && p.session.ProtocolVersion() != "" {
		least = p.session.GetLogLevel()
	}
	if least == "" || !level.ShouldSendTo(least) {
		return
	}
	params := messages.AppendString([]byte(`{"level":`), string(level))
	params = messages.AppendString(append(params, `,"logger":"shoal","data":`...), text)
	p.sendFor(about.id, notificationFrame("notifications/message", append(params, '}')))
}
