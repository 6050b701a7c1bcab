package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"shoal.dev/shoal/messages"
)

const (
	// MaxInFlight is how many calls of one connection may be open at once.
	MaxInFlight = 1024
	// inFlightBytes is how large the frames of one connection's open calls may
	// be together.
	inFlightBytes = 64 << 20
	// DrainGrace is how long the open calls of a connection that ended may
	// still be answered.
	DrainGrace = 2 * time.Second
)

// Options are what a Server needs; zero values mean the defaults.
type Options struct {
	Version  string
	Log      *slog.Logger
	InFlight int           // MaxInFlight
	Grace    time.Duration // DrainGrace
	// ApprovalWait is how long the user of a client may take to answer when
	// asked for an approval: ApprovalWait of the package.
	ApprovalWait time.Duration
	// Go runs a call's waiting on a goroutine; nil starts a new one each time.
	Go func(func())

	token func() string // names a question; nobody can guess one
}

// Server is the facade of one kernel, shared by all its connections.
type Server struct {
	o         Options
	tools     map[string]*tool
	info      json.RawMessage // who this is, for results of the stateless era
	library   *server.MCPServer
	questions questions
	sessions  atomic.Uint64
	messages  atomic.Uint64
}

// NewServer makes the facade. It fails only when the tool table is wrong.
func NewServer(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.InFlight <= 0 {
		o.InFlight = MaxInFlight
	}
	if o.Go == nil {
		o.Go = func(f func()) { go f() }
	}
	if o.ApprovalWait <= 0 {
		o.ApprovalWait = ApprovalWait
	}
	if o.token == nil {
		o.token = rand.Text
	}
	if o.Grace <= 0 {
		o.Grace = DrainGrace
	}
	s := &Server{o: o, tools: map[string]*tool{}}
	s.questions.byKey = map[string]question{}
	s.info = messages.JSON(mcp.Implementation{Name: "shoal", Version: o.Version, Title: "Shoal"})
	s.library = server.NewMCPServer("shoal", o.Version,
		server.WithTitle("Shoal"),
		server.WithMethodCacheHints(mcp.MethodToolsList, keepTables, mcp.CacheScopePublic),
		server.WithMethodCacheHints(mcp.MethodResourcesTemplatesList, keepTables, mcp.CacheScopePublic),
		server.WithInstructions(instructions()),
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(true, true),
		server.WithLogging(),
		server.WithCompletions(),
		server.WithResourceCompletionProvider(completer{}),
	)
	for _, t := range toolTable() {
		published := t.published()
		if !json.Valid(published.RawInputSchema) || !json.Valid(published.RawOutputSchema) {
			return nil, fmt.Errorf("publish tool %s: its schema is not JSON", t.name)
		}
		s.tools[t.name] = t
		s.library.AddTool(published, onlyByLoop)
	}
	for _, t := range templateTable() {
		s.library.AddResourceTemplate(t, nil)
	}
	if fixtures.add != nil {
		fixtures.add(s)
	}
	return s, nil
}

// onlyByLoop stands in the library's tool table, which is for listing only:
// calls are taken out by the connection loop before the library sees them.
func onlyByLoop(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("call tool: not a call of a connection")
}

// handle lets the library answer what is the protocol's own business. The
// library reads ids as floats, so it is given ids of ours.
func (s *Server) handle(ctx context.Context, session *session, method string, params json.RawMessage) (json.RawMessage, *messages.Error) {
	frame := appendInt([]byte(`{"jsonrpc":"2.0","id":`), int64(s.messages.Add(1)))
	frame = messages.AppendString(append(frame, `,"method":`...), method)
	if params != nil {
		frame = appendRaw(append(frame, `,"params":`...), params)
	}
	frame = append(frame, '}')
	answer, err := messages.Encode(s.library.HandleMessage(s.library.WithContext(ctx, session), frame))
	if err != nil {
		return nil, messages.Errorf(messages.CodeInternal, "encode answer to %s: %v", method, err)
	}
	if refusal := member(answer, "error"); refusal != nil {
		e := &messages.Error{}
		if err := json.Unmarshal(refusal, e); err != nil {
			return nil, messages.Errorf(messages.CodeInternal, "decode answer to %s: %v", method, err)
		}
		return nil, e
	}
	return member(answer, "result"), nil
}

// notify lets the library see a notification.
func (s *Server) notify(ctx context.Context, session *session, method string, params json.RawMessage) {
	s.library.HandleMessage(s.library.WithContext(ctx, session), notificationFrame(method, params))
}

// fixtures are what the official conformance suite wants to find beside the
// facade's own. They are there only in builds with the tag conformance.
var fixtures struct {
	add   func(*Server)
	route func(*peer, request) (job, bool)
}
