package mcphttp

import (
	"encoding/json"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

const (
	headerSession  = "Mcp-Session-Id"
	headerRevision = "Mcp-Protocol-Version"
	headerLast     = "Last-Event-ID"
	typeJSON       = "application/json"
	typeEvents     = "text/event-stream"
)

// ServeHTTP checks who asks and from where, before anything of the request's
// body is read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, found := sessionName(r.URL.Path)
	switch {
	case !isLocal(r.Host):
		s.fail(w, http.StatusForbidden, messages.Errorf(messages.CodeAuthFailed, "host %.80q: this server answers to loopback names only", r.Host))
	case !originAllowed(r.Header):
		s.fail(w, http.StatusForbidden, messages.Errorf(messages.CodeAuthFailed, "origin %.80q may not use this server", r.Header.Get("Origin")))
	case !found:
		s.fail(w, http.StatusNotFound, messages.Errorf(messages.CodeInvalidRequest, "nothing is served at %.80q: use /mcp, or /mcp/SESSION with the name of a session", r.URL.Path))
	case r.Method != http.MethodPost && r.Method != http.MethodGet && r.Method != http.MethodDelete:
		s.notAllowed(w, "POST, GET, DELETE", "method %.20s is not served", r.Method)
	default:
		if caller, ok := s.authenticate(w, r); ok {
			s.route(w, r, caller, name)
		}
	}
}

// route serves an authenticated request.
func (s *Server) route(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName) {
	switch {
	case s.stopping.Load():
		w.Header().Set("Retry-After", "1")
		s.fail(w, http.StatusServiceUnavailable, stopped())
	case r.Method == http.MethodPost:
		s.post(w, r, caller, name)
	case isStateless(r.Header.Get(headerRevision)):
		s.notAllowed(w, "POST", "%s does not belong to revision %s, which has no sessions", r.Method, r.Header.Get(headerRevision))
	case r.Method == http.MethodGet:
		s.get(w, r, caller, name)
	default:
		s.delete(w, r, caller, name)
	}
}

func stopped() *messages.Error {
	return messages.Errorf(messages.CodeInterrupted, "the kernel is stopping").With(map[string]string{"reason": "kernel_stopped"})
}

// sessionName is the kernel session that a path names.
func sessionName(path string) (messages.SessionName, bool) {
	rest, ok := strings.CutPrefix(path, "/mcp")
	if !ok {
		return "", false
	}
	if rest == "" || rest == "/" {
		return messages.DefaultSession, true
	}
	name := messages.SessionName(strings.TrimPrefix(rest, "/"))
	return name, rest[0] == '/' && name.Valid()
}

// isLocal reports whether a Host names this machine to itself. A name that was
// bound to a loopback address by somebody's DNS does not.
func isLocal(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// originAllowed lets in programs, which send no Origin, and pages that this
// machine serves to itself.
func originAllowed(h http.Header) bool {
	values := h.Values("Origin")
	if len(values) == 0 {
		return true
	}
	u, err := url.Parse(values[0])
	return len(values) == 1 && err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLocal(u.Host)
}

// authenticate finds the caller, or answers 401.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (Caller, bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "Bearer") || secret == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="shoal"`)
		s.fail(w, http.StatusUnauthorized, messages.Errorf(messages.CodeAuthFailed, "a bearer token is required; shoal token create makes one").
			With(map[string]string{"reason": "token_required"}))
		return Caller{}, false
	}
	caller, refusal := s.o.Admit(secret)
	if refusal != nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="shoal", error="invalid_token"`)
		s.fail(w, http.StatusUnauthorized, refusal)
		return Caller{}, false
	}
	return caller, true
}

// accepts reports which kinds of answer a request takes.
func accepts(h http.Header) (asJSON, asEvents bool) {
	values := h.Values("Accept")
	if len(values) == 0 {
		return true, true
	}
	for _, value := range values {
		for _, part := range strings.Split(value, ",") {
			kind, params, _ := strings.Cut(part, ";")
			if q := strings.ReplaceAll(params, " ", ""); q == "q=0" || strings.HasPrefix(q, "q=0;") {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "*/*":
				asJSON, asEvents = true, true
			case typeJSON, "application/*":
				asJSON = true
			case typeEvents, "text/*":
				asEvents = true
			}
		}
	}
	return asJSON, asEvents
}

// isJSON reports whether a body is said to be JSON in UTF-8.
func isJSON(h http.Header) bool {
	kind, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	return err == nil && kind == typeJSON && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

// arm bounds how long the peer may take for what is written next.
func (s *Server) arm(w http.ResponseWriter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.o.WriteTime)) // a writer without deadlines is a test's
}

// fail answers a request that never became a call.
func (s *Server) fail(w http.ResponseWriter, status int, refusal *messages.Error) {
	s.failFor(w, status, json.RawMessage("null"), refusal)
}

func (s *Server) failFor(w http.ResponseWriter, status int, id json.RawMessage, refusal *messages.Error) {
	s.plain(w, status, wire.AppendError(nil, id, refusal))
}

func (s *Server) notAllowed(w http.ResponseWriter, allow, format string, args ...any) {
	w.Header().Set("Allow", allow)
	s.fail(w, http.StatusMethodNotAllowed, messages.Errorf(messages.CodeInvalidRequest, format, args...))
}
