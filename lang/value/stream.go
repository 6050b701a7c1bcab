package value

import (
	"sync/atomic"
	"unsafe"
)

// Stream is the object behind a stream: a source for one consumer. Only the
// engine knows what the source is.
type Stream struct {
	kind    Kind
	taken   atomic.Bool
	Bounded bool
	Label   string
	src     any
}

// NewStream makes a stream over src.
func NewStream(label string, bounded bool, src any) Value {
	return Value{unsafe.Pointer(&Stream{kind: KindStream, Label: label, Bounded: bounded, src: src}), 0}
}

// AsStream is the object behind a stream.
func (v Value) AsStream() *Stream { return (*Stream)(v.p) }

// Take gives the source to its one consumer; a second call raises
// stream_consumed.
func (s *Stream) Take() (any, *Error) {
	if s.taken.Swap(true) {
		return nil, Errorf(CodeStreamConsumed, "this stream already has a consumer").
			WithHint("keep the items with `collect`, or fork it with `tee` first")
	}
	return s.src, nil
}

// Taken reports whether the stream has a consumer.
func (s *Stream) Taken() bool { return s.taken.Load() }

// Peek is the source without becoming its consumer; for hosts that show or
// close streams.
func (s *Stream) Peek() any { return s.src }
