package ptyactor

import (
	"cmp"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/recording"
)

// lease is who alone may type, and until when.
type lease struct {
	reader string // the connection; empty: nobody
	name   string
	span   time.Duration
	until  time.Time
}

// holderLocked is who holds the keyboard, as the reader is told; nil when nobody
// does.
func (h *Host) holderLocked(reader string) *messages.PTYHolder {
	left := time.Until(h.held.until)
	if h.held.reader == "" || left <= 0 {
		return nil
	}
	return &messages.PTYHolder{Holder: h.held.name, Yours: h.held.reader == reader, ExpiresMS: left.Milliseconds()}
}

// mayTypeLocked refuses who does not hold a keyboard that is held. Typing holds
// it anew.
func (h *Host) mayTypeLocked(reader string) *messages.Error {
	k := h.holderLocked(reader)
	switch {
	case k == nil:
	case k.Yours:
		h.held.until = time.Now().Add(h.held.span)
	default:
		return messages.Errorf(messages.CodeTaskControl,
			"%s holds the keyboard of %s for another %d s; nothing was sent: read the screen meanwhile, or try later",
			k.Holder, h.id, k.ExpiresMS/1000+1).With(k)
	}
	return nil
}

// Hold takes the keyboard for a connection, or gives it back.
func (h *Host) Hold(req messages.HoldPTY) (messages.PTYHeld, *messages.Error) {
	if req.Seconds < 0 || req.Seconds > messages.PTYLeaseMax {
		return messages.PTYHeld{}, messages.Errorf(messages.CodeInvalidParams, "seconds: want 0 to %d, got %d", messages.PTYLeaseMax, req.Seconds)
	}
	h.mu.Lock()
	if h.gone {
		h.mu.Unlock()
		return messages.PTYHeld{}, unknown(h.id)
	}
	before := h.holderLocked(req.Reader)
	switch {
	case req.Seconds > 0 && before != nil && !before.Yours:
		h.mu.Unlock()
		return messages.PTYHeld{}, messages.Errorf(messages.CodeTaskControl, "%s holds the keyboard of %s already", before.Holder, h.id).With(before)
	case req.Seconds > 0:
		span := time.Duration(req.Seconds) * time.Second
		h.held = lease{req.Reader, cmp.Or(req.Name, req.Reader), span, time.Now().Add(span)}
	case before == nil || before.Yours:
		h.held = lease{}
	}
	now := h.holderLocked(req.Reader)
	told := (now == nil) != (before == nil)
	h.mu.Unlock()
	if told {
		var holder *string
		if now != nil {
			holder = &now.Holder
		}
		h.publish(messages.JSON(struct {
			Keyboard *string `json:"keyboard"`
		}{holder}))
	}
	return messages.PTYHeld{PTY: h.id, Keyboard: now}, nil
}

// typed records input that the terminal echoes: what it hides may be secret.
func (h *Host) typed(b []byte) {
	if h.record != nil && h.record.input && h.dev.echoes() {
		h.record.event(recording.Input, b)
	}
}
