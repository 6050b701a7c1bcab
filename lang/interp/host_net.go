package interp

import (
	"context"
	"time"

	"shoal.dev/shoal/lang/value"
)

// Net sends HTTP requests.
type Net interface {
	// Fetch sends a request, follows redirects and reads the whole response. Its
	// errors are *value.Error with a code of their own; a status is none.
	Fetch(ctx context.Context, r NetRequest) (*NetResponse, error)
}

// HeaderField is one line of an HTTP header.
type HeaderField struct{ Name, Value string }

// NetRequest is an HTTP request.
type NetRequest struct {
	Method  string
	URL     string
	Header  []HeaderField
	Body    []byte
	Timeout time.Duration // of the whole exchange; 0: none
	// Permit judges every place before it is connected to, that of a redirect
	// too; nil permits all.
	Permit func(host, port string) error
}

// NetResponse is the response to a NetRequest. Header names are lower case,
// repeated fields joined, in order of their names.
type NetResponse struct {
	Status int
	Header []HeaderField
	Body   []byte
}

// Secrets is the store of secrets.
type Secrets interface {
	// Secret is the secret of that name: not_found, or permission when the store
	// refuses.
	Secret(ctx context.Context, name string) ([]byte, error)
}

// Config is the configuration that a session may read.
type Config interface {
	// Snapshot is the configuration as a record.
	Snapshot(ctx context.Context) (value.Value, error)
}

// FeedBytes is what a value looks like on a program's stdin, or as the body of
// a request.
func FeedBytes(v value.Value) ([]byte, *value.Error) { return feedBytes(v) }
