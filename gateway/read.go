package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

func (b *backend) getValue(p messages.GetValueParams) (wire.Call, *messages.Error) {
	switch p.Format {
	case "", "json", "render", "raw":
	default:
		return nil, messages.Errorf(messages.CodeInvalidParams, "format: expected \"json\", \"render\" or \"raw\", not %q", p.Format)
	}
	if err := checkElide(p.Elide); err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Session(b.session), messages.GetValue{Principal: b.principal, Params: p}, raw), nil
}

// blobPiece is how much of a blob one call gives at most, in bytes.
const blobPiece = 64 << 10

type getBlobParams struct {
	Hash   string `json:"hash" wire:"required"`
	Offset int64  `json:"offset"`
	Limit  *int64 `json:"limit"`
}

func (b *backend) getBlob(p getBlobParams) (wire.Call, *messages.Error) {
	limit := int64(blobPiece)
	switch {
	case p.Offset < 0:
		return nil, messages.Errorf(messages.CodeInvalidParams, "offset: expected an integer of at least 0, not %d", p.Offset)
	case p.Limit != nil && *p.Limit < 1:
		return nil, messages.Errorf(messages.CodeInvalidParams, "limit: expected an integer of at least 1, not %d", *p.Limit)
	case p.Limit != nil:
		limit = min(limit, *p.Limit)
	}
	hash := strings.TrimPrefix(strings.TrimPrefix(p.Hash, "val:"), "blake3:")
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		return b.blobPiece(hash, p.Offset, limit)
	}), nil
}

func (b *backend) blobPiece(hash string, offset, limit int64) (json.RawMessage, *messages.Error) {
	r, n, err := b.g.o.Store.OpenBlob(hash)
	if err != nil {
		return nil, messages.Errorf(messages.CodeUnknownRef, "there is no content val:blake3:%s: %v", hash, err)
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	if offset > n {
		return nil, messages.Errorf(messages.CodeBadPath, "offset %d is beyond the length %d", offset, n)
	}
	buf := make([]byte, min(limit, n-offset))
	got, err := r.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, messages.Errorf(messages.CodeInternal, "read content val:blake3:%s: %v", hash, err)
	}
	out := messages.BlobPiece{
		Hash: hash, Len: n, Offset: offset, DataBase64: base64.StdEncoding.EncodeToString(buf[:got]),
	}
	if next := offset + int64(got); next < n {
		out.Next = &next
	}
	return messages.JSON(out), nil
}

func (b *backend) queryJournal(q messages.JournalQuery) (wire.Call, *messages.Error) {
	if q.Limit < 0 || q.Limit > messages.JournalLimitMax {
		return nil, messages.Errorf(messages.CodeInvalidParams, "limit: expected 1 to %d, not %d", messages.JournalLimitMax, q.Limit)
	}
	if !b.isOwner() { // what others did is not theirs to see
		q.VisibleTo = []messages.SessionName{b.session}
	}
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		page, err := b.g.o.Store.Query(q)
		if err != nil {
			var refusal *messages.Error
			if errors.As(err, &refusal) {
				return nil, refusal
			}
			return nil, messages.Errorf(messages.CodeInternal, "query journal: %v", err)
		}
		return messages.JSON(page), nil
	}), nil
}
