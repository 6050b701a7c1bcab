package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
)

// An entry's value starts with what queries filter by, so that only the rows
// they return are decoded: format, ok, status, kind (a byte each), time, effect
// bits, then session, principal, request id, heads and source, then the rest as
// JSON.
const (
	entryFormat = 1
	entryFixed  = 4 + 8 + 4
)

// The values of the ok byte.
const (
	okUnknown = iota
	okFalse
	okTrue
)

// statuses and kinds give their position as a byte; an unknown one is 255, and
// the JSON has its name.
var (
	statuses = []messages.EntryStatus{messages.EntryRunning, messages.EntryDone, messages.EntryFailed,
		messages.EntryCancelled, messages.EntryInterrupted, messages.EntryRefused}
	kinds = []messages.EntryKind{messages.EntryExec, messages.EntryPlan, messages.EntryApply,
		messages.EntryApproval, messages.EntryPTY, messages.EntryUndo}
)

var errEntry = errors.New("damaged entry")

func encodeEntry(e *messages.Entry) ([]byte, error) {
	rest := *e
	rest.Src = ""
	body, err := json.Marshal(&rest)
	if err != nil {
		return nil, err
	}
	heads := entryHeads(e)
	b := make([]byte, 0, entryFixed+len(body)+len(e.Src)+128)
	b = append(b, entryFormat, okByte(e.OK), byte(slices.Index(statuses, e.Status)), byte(slices.Index(kinds, e.Kind)))
	b = binary.BigEndian.AppendUint64(b, uint64(e.TS))
	b = binary.BigEndian.AppendUint32(b, entryEffects(e))
	b = putString(b, string(e.Session))
	b = putString(b, string(e.Principal))
	b = putString(b, e.RequestID)
	b = binary.AppendUvarint(b, uint64(len(heads)))
	for _, h := range heads {
		b = putString(b, h)
	}
	b = putString(b, e.Src)
	return append(b, body...), nil
}

func okByte(ok *bool) byte {
	switch {
	case ok == nil:
		return okUnknown
	case *ok:
		return okTrue
	default:
		return okFalse
	}
}

// entryHeads are the heads of the entry and its statements, each once.
func entryHeads(e *messages.Entry) []string {
	var heads []string
	add := func(h string) {
		if h != "" && !slices.Contains(heads, h) {
			heads = append(heads, h)
		}
	}
	add(e.Head)
	for i := range e.Statements {
		add(e.Statements[i].Head)
	}
	return heads
}

// entryEffects has a bit for each kind that the entry or a statement has.
func entryEffects(e *messages.Entry) uint32 {
	var bits uint32
	for _, x := range e.Effects {
		bits |= effectBit(x.Kind)
	}
	for i := range e.Statements {
		for _, x := range e.Statements[i].Effects {
			bits |= effectBit(x.Kind)
		}
	}
	return bits
}

// effectBit is the kind's bit; kinds that do not exist have none.
func effectBit(k effect.Kind) uint32 {
	if k > 31 {
		return 0
	}
	return 1 << k
}

// entryRow is an entry's value taken apart; it aliases the value.
type entryRow struct {
	ok, status                    byte
	ts                            int64
	effects                       uint32
	session, principal, requestID []byte
	heads                         [][]byte
	src                           []byte
	body                          []byte
}

func parseEntry(value []byte) (entryRow, error) {
	if len(value) < entryFixed || value[0] != entryFormat {
		return entryRow{}, errEntry
	}
	e := entryRow{ok: value[1], status: value[2]}
	e.ts = int64(binary.BigEndian.Uint64(value[4:]))
	e.effects = binary.BigEndian.Uint32(value[12:])
	r := reader{b: value[entryFixed:]}
	e.session, e.principal, e.requestID = r.bytes(), r.bytes(), r.bytes()
	if n := r.count(); n > 0 {
		e.heads = make([][]byte, 0, n)
		for ; n > 0 && r.err == nil; n-- {
			e.heads = append(e.heads, r.bytes())
		}
	}
	e.src = r.bytes()
	e.body = r.b
	if r.err != nil {
		return entryRow{}, errEntry
	}
	return e, nil
}

// decode is the whole entry.
func (e *entryRow) decode() (messages.Entry, error) {
	var out messages.Entry
	if err := json.Unmarshal(e.body, &out); err != nil {
		return out, errEntry
	}
	out.Src = string(e.src)
	if out.Effects == nil { // never null on the wire
		out.Effects = []effect.Effect{}
	}
	return out, nil
}
