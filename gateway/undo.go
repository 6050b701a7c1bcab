package gateway

import (
	"fmt"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// undoParams name the entry to undo; without one it is the newest statement of
// the caller that can be undone.
type undoParams struct {
	Entry *messages.EntryID `json:"entry"`
	Elide *messages.Elide   `json:"elide"`
}

// undo is a submission of the language's undo: it stands in the session's line
// and is judged, recorded and answered as one.
func (b *backend) undo(p undoParams) (wire.Call, *messages.Error) {
	src := "undo"
	if p.Entry != nil {
		src = fmt.Sprint("undo ", *p.Entry)
	}
	return b.exec(messages.ExecParams{Src: src, Position: messages.PositionValue, Elide: p.Elide})
}
