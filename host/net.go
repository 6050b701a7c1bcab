package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// The bounds of an HTTP exchange.
const (
	maxResponse  = 64 << 20 // bytes of a body
	maxRedirects = 10
)

// Net sends HTTP requests, without any proxy.
type Net struct {
	// Transport replaces the network; nil is the real one.
	Transport http.RoundTripper
}

// Fetch sends a request and reads the whole response.
func (n Net) Fetch(ctx context.Context, r interp.NetRequest) (*interp.NetResponse, error) {
	parent := ctx
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Timeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, value.Errorf(value.CodeArg, "bad request: %v", err)
	}
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, "host") {
			req.Host = f.Value
			continue
		}
		req.Header.Set(f.Name, f.Value)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "shoal")
	}
	if err := permit(r, req); err != nil {
		return nil, err
	}
	client := &http.Client{Transport: n.Transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return value.Errorf(value.CodeNet, "more than %d redirects", maxRedirects)
		}
		return permit(r, next)
	}}
	if client.Transport == nil {
		t := &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, DialContext: (&net.Dialer{}).DialContext}
		defer t.CloseIdleConnections()
		client.Transport = t
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, netError(parent, r, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err != nil {
		return nil, netError(parent, r, err)
	}
	if len(body) > maxResponse {
		return nil, value.Errorf(value.CodeNet, "%s: the response has more than %d bytes", r.URL, maxResponse)
	}
	return &interp.NetResponse{Status: resp.StatusCode, Header: fields(resp.Header), Body: body}, nil
}

// permit asks whether a request may be sent to where it would go.
func permit(r interp.NetRequest, req *http.Request) error {
	if s := req.URL.Scheme; s != "http" && s != "https" {
		return value.Errorf(value.CodeNet, "%s: not an HTTP address", req.URL.Redacted())
	}
	if r.Permit == nil {
		return nil
	}
	port := req.URL.Port()
	if port == "" {
		port = "80"
		if req.URL.Scheme == "https" {
			port = "443"
		}
	}
	return r.Permit(req.URL.Hostname(), port)
}

// netError words a failed exchange. A refusal keeps its code, and so does the
// end of the run.
func netError(parent context.Context, r interp.NetRequest, err error) error {
	var e *value.Error
	switch {
	case errors.As(err, &e):
		return e
	case parent.Err() != nil:
		return value.Errorf(value.CodeCancelled, "cancelled")
	case errors.Is(err, context.DeadlineExceeded):
		return value.Errorf(value.CodeNet, "%s: no complete response within %v", r.URL, r.Timeout)
	}
	return value.Errorf(value.CodeNet, "%v", fmt.Errorf("%s %s: %w", r.Method, r.URL, rootCause(err)))
}

// rootCause is the error below the layer that repeats method and URL.
func rootCause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// fields is a header with lower-case names in order, repeats joined.
func fields(h http.Header) []interp.HeaderField {
	out := make([]interp.HeaderField, 0, len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		out = append(out, interp.HeaderField{Name: strings.ToLower(name), Value: strings.Join(h[name], ", ")})
	}
	return out
}
