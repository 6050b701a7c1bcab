package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// Two eras of the protocol share every connection, request by request. Up to
// 2025-11-25 a handshake settles the revision, capabilities and log level of a
// connection. From 2026-07-28 there is none: each request brings these in its
// _meta, results say whether they are complete and how long they may be kept,
// what the server wants to know is part of a result, and notices come on the
// stream of a subscriptions/listen request.

// statelessRevision is the oldest revision without a handshake, and the newest
// one that is spoken.
const statelessRevision = mcp.ProtocolVersion20260728

// codeUnsupportedRevision refuses a request in a revision that is not spoken.
const codeUnsupportedRevision messages.Code = mcp.UNSUPPORTED_PROTOCOL_VERSION

// meta is what a request says about itself in its _meta. It points into the
// frame.
type meta struct {
	token     []byte // of the progress that is wanted; nil: none
	stateless bool
	elicits   bool   // the client of a stateless request can ask its user
	level     string // of log messages about a stateless request; "": none
}

// own is m apart from the frame.
func (m meta) own() meta {
	m.token = bytes.Clone(m.token)
	return m
}

// readMeta reads the _meta of a request's params.
func readMeta(params []byte) (meta, *messages.Error) {
	var m meta
	raw := member(params, "_meta")
	if raw == nil {
		return m, nil
	}
	var revision, capabilities []byte
	eachMember(raw, func(key, value []byte) bool {
		switch string(key) {
		case "progressToken":
			if kind := jsonType(value); kind == "string" || kind == "integer" {
				m.token = value
			}
		case mcp.MetaKeyProtocolVersion:
			revision = value
		case mcp.MetaKeyClientCapabilities:
			capabilities = value
		case mcp.MetaKeyLogLevel:
			m.level = unquote(value)
		}
		return true
	})
	switch spoken := unquote(revision); {
	case revision == nil:
		return m, nil
	case revision[0] != '"':
		return m, badMeta(mcp.MetaKeyProtocolVersion, "expected a revision such as "+statelessRevision)
	case spoken < statelessRevision:
		return m, nil // an older one is settled by the handshake
	case spoken != statelessRevision:
		return m, messages.Errorf(codeUnsupportedRevision, "revision %s is not spoken here", clip(spoken, 64)).
			With(mcp.UnsupportedProtocolVersionData{Supported: revisions(), Requested: spoken})
	case capabilities == nil || capabilities[0] != '{':
		return m, badMeta(mcp.MetaKeyClientCapabilities, "expected an object, which may be empty")
	case m.level != "" && !slices.Contains(logLevels, mcp.LoggingLevel(m.level)):
		return m, badMeta(mcp.MetaKeyLogLevel, "expected a log level such as info, not "+clip(m.level, 64))
	}
	m.stateless, m.elicits = true, elicits(capabilities)
	return m, nil
}

func badMeta(key, what string) *messages.Error {
	return messages.Errorf(messages.CodeInvalidParams, "_meta.%s: %s", key, what)
}

// revisions are those that are spoken, newest first.
func revisions() []string { return slices.Clone(mcp.ValidProtocolVersions) }

// logLevels are the levels of log messages, least first.
var logLevels = []mcp.LoggingLevel{
	mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelNotice, mcp.LoggingLevelWarning,
	mcp.LoggingLevelError, mcp.LoggingLevelCritical, mcp.LoggingLevelAlert, mcp.LoggingLevelEmergency,
}

// elicits reports whether a client with these capabilities can show its user a
// form.
func elicits(capabilities []byte) bool {
	can := member(capabilities, "elicitation")
	if len(can) == 0 || can[0] != '{' {
		return false
	}
	return member(can, "form") != nil || member(can, "url") == nil
}

// replaced is what took the place of methods that the stateless era lacks.
var replaced = map[string]string{
	"initialize":            "server/discover tells what this server offers",
	"ping":                  "any request shows whether it is answered",
	"logging/setLevel":      "_meta." + mcp.MetaKeyLogLevel + " of each request sets its level",
	"resources/subscribe":   "name the resource in subscriptions/listen",
	"resources/unsubscribe": "cancel the subscriptions/listen request",
}

// outOfEra refuses methods of the other era.
func outOfEra(method string, m meta) *messages.Error {
	if m.stateless {
		if instead, gone := replaced[method]; gone {
			return messages.Errorf(messages.CodeMethodNotFound, "%s was removed in %s: %s", method, statelessRevision, instead)
		}
		return nil
	}
	if method == "server/discover" || method == "subscriptions/listen" {
		return messages.Errorf(messages.CodeMethodNotFound, "%s belongs to revision %s, which each request names in its _meta as %s",
			method, statelessRevision, mcp.MetaKeyProtocolVersion)
	}
	return nil
}

// How long clients of the stateless era may keep what does not change while a
// kernel runs, and what never changes, in milliseconds.
const (
	keepTables  = 5 * 60 * 1000
	keepContent = 24 * 60 * 60 * 1000
)

// forStateless gives the result of a job the members that the stateless era wants.
func (s *Server) forStateless(j job) job {
	run := j.run
	j.run = func(ctx context.Context) (json.RawMessage, *messages.Error) {
		result, refusal := run(ctx)
		if refusal != nil || member(result, "resultType") != nil {
			return result, refusal
		}
		return s.complete(result, j.keep), nil
	}
	return j
}

// complete adds to a result without _meta that it is final and who made it.
func (s *Server) complete(result json.RawMessage, keep *int64) json.RawMessage {
	dst := append(make([]byte, 0, len(result)+len(s.info)+160), result[:len(result)-1]...)
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(dst, `"resultType":"complete"`...)
	if keep != nil {
		dst = appendInt(append(dst, `,"ttlMs":`...), *keep)
		dst = append(dst, `,"cacheScope":"private"`...)
	}
	return append(s.appendInfo(append(dst, `,"_meta":{`...)), `}}`...)
}

// appendInfo appends the member that names this server.
func (s *Server) appendInfo(dst []byte) []byte {
	dst = messages.AppendString(dst, mcp.MetaKeyServerInfo)
	return append(append(dst, ':'), s.info...)
}
