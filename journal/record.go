package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
)

// recordFormat is the first byte of every payload.
const recordFormat = 1

// event is one numbered event on its way through the tail.
type event struct {
	key     messages.ChannelKey
	seq     uint64
	ts      int64
	payload []byte
}

func (e event) message() messages.Event {
	return messages.Event{Channel: e.key.Name, Seq: e.seq, TS: e.ts, Payload: e.payload}
}

// reservation moves a counter: numbers below Upto may have been handed out.
type reservation struct {
	name string
	upto uint64
}

// record is one frame of the tail, taken apart.
type record struct {
	lsn      uint64
	key      string
	ts       int64 // Unix nanoseconds
	entryID  uint64
	entry    []byte // see entry.go
	rows     []messages.Row
	events   []event
	counters []reservation
}

func (r *record) encode(b []byte) []byte {
	b = append(b, recordFormat)
	b = binary.AppendUvarint(b, uint64(r.ts))
	b = putString(b, r.key)
	b = binary.AppendUvarint(b, r.entryID)
	b = putBytes(b, r.entry)
	b = binary.AppendUvarint(b, uint64(len(r.rows)))
	for _, row := range r.rows {
		b = putString(b, row.Table)
		b = putString(b, row.Key)
		if row.Value == nil {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = putBytes(b, row.Value)
	}
	b = binary.AppendUvarint(b, uint64(len(r.events)))
	for _, e := range r.events {
		b = putString(b, string(e.key.Session))
		b = putString(b, e.key.Name)
		b = binary.AppendUvarint(b, e.seq)
		b = putBytes(b, e.payload)
	}
	b = binary.AppendUvarint(b, uint64(len(r.counters)))
	for _, c := range r.counters {
		b = putString(b, c.name)
		b = binary.AppendUvarint(b, c.upto)
	}
	return b
}

// decodeRecord aliases payload.
func decodeRecord(lsn uint64, payload []byte) (record, error) {
	r := reader{b: payload}
	if f := r.byte(); f != recordFormat {
		return record{}, fmt.Errorf("decode record %d: unknown format %d", lsn, f)
	}
	rec := record{lsn: lsn, ts: int64(r.uvarint()), key: r.string(), entryID: r.uvarint(), entry: r.bytes()}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		row := messages.Row{Table: r.string(), Key: r.string()}
		if r.byte() == 1 {
			row.Value = r.bytes()
		}
		rec.rows = append(rec.rows, row)
	}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		e := event{ts: rec.ts}
		e.key = messages.ChannelKey{Session: messages.SessionName(r.string()), Name: r.string()}
		e.seq, e.payload = r.uvarint(), r.bytes()
		rec.events = append(rec.events, e)
	}
	for n := r.count(); n > 0 && r.err == nil; n-- {
		rec.counters = append(rec.counters, reservation{name: r.string(), upto: r.uvarint()})
	}
	if r.err != nil {
		return record{}, fmt.Errorf("decode record %d: %w", lsn, r.err)
	}
	return rec, nil
}

// prepare checks what a caller wants written and encodes its entry. The event
// numbers are the writer's business.
func prepare(in messages.Record) (record, *messages.Error) {
	rec := record{key: in.Key, rows: in.Rows}
	for _, row := range in.Rows {
		if row.Table == "" || strings.IndexByte(row.Table, 0) >= 0 {
			return rec, messages.Errorf(messages.CodeInvalidParams, "row has a bad table name %q", row.Table)
		}
		if len(row.Table)+len(row.Key) > maxRowKey {
			return rec, messages.Errorf(messages.CodeInvalidParams, "row key in table %q is longer than %d bytes", row.Table, maxRowKey)
		}
	}
	for _, d := range in.Events {
		if err := checkDraft(d); err != nil {
			return rec, err
		}
		payload := []byte(d.Payload)
		if payload == nil {
			payload = []byte("null")
		}
		rec.events = append(rec.events, event{key: d.Key, payload: payload})
	}
	if in.Entry == nil {
		return rec, nil
	}
	if in.Entry.ID == 0 {
		return rec, messages.Errorf(messages.CodeInvalidParams, "entry has no id")
	}
	rec.entryID = uint64(in.Entry.ID)
	value, err := encodeEntry(in.Entry)
	if err != nil {
		return rec, messages.Errorf(messages.CodeInternal, "encode entry %d: %v", in.Entry.ID, err)
	}
	rec.entry = value
	return rec, nil
}

// Limits of names, in bytes; bbolt keys end at 32 KiB.
const (
	maxRowKey      = 16 << 10
	maxChannelName = 512
)

func checkDraft(d messages.Draft) *messages.Error {
	if err := checkChannel(d.Key); err != nil {
		return err
	}
	if len(d.Payload) > messages.EventMost {
		return messages.Errorf(messages.CodeQuota, "event on %q: %d bytes of payload, at most %d may be sent; send a path or a ref to them",
			d.Key.Name, len(d.Payload), messages.EventMost).With(map[string]int{"limit": messages.EventMost, "used": len(d.Payload)})
	}
	if d.Payload != nil && !json.Valid(d.Payload) {
		return messages.Errorf(messages.CodeInvalidParams, "event on %q: payload is not JSON", d.Key.Name)
	}
	return nil
}

func checkChannel(key messages.ChannelKey) *messages.Error {
	switch {
	case key.Name == "" || len(key.Name) > maxChannelName,
		!utf8.ValidString(key.Name), strings.IndexByte(key.Name, 0) >= 0:
		return messages.Errorf(messages.CodeInvalidParams, "bad channel name %.64q", key.Name)
	case key.Session != "" && !key.Session.Valid():
		return messages.Errorf(messages.CodeInvalidParams, "channel %q: bad session name %.80q", key.Name, key.Session)
	case key.Retention() == messages.RetainMemory:
		return messages.Errorf(messages.CodeInvalidParams, "channel %q is kept in memory only, not in the journal", key.Name)
	}
	return nil
}
