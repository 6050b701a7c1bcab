package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// progressFirst is how long a call runs before its first progress is told.
	progressFirst = 250 * time.Millisecond
	// progressEvery is the time between two tellings.
	progressEvery = time.Second
)

// progress tells the client how long a call has been running, until stop is
// called; nothing is told after that. Progress is in milliseconds.
func (p *peer) progress(token json.RawMessage) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		started := time.Now()
		for pause := progressFirst; sleep(ctx, pause); pause = progressEvery {
			ran := time.Since(started)
			params := appendRaw([]byte(`{"progressToken":`), token)
			params = appendInt(append(params, `,"progress":`...), ran.Milliseconds())
			params = appendString(append(params, `,"message":`...), fmt.Sprintf("running for %.1f s", ran.Seconds()))
			if p.conn.Send(notificationFrame("notifications/progress", append(params, '}'))) != nil {
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// log sends a log message to a client that wants its level.
func (p *peer) log(level mcp.LoggingLevel, text string) {
	if !p.session.Initialized() || !level.ShouldSendTo(p.session.GetLogLevel()) {
		return
	}
	params := appendString([]byte(`{"level":`), string(level))
	params = appendString(append(params, `,"logger":"shoal","data":`...), text)
	p.conn.Send(notificationFrame("notifications/message", append(params, '}')))
}
