package journal

import (
	"slices"

	"shoal.dev/shoal/messages"
)

// layer is what records have changed since the last fold. The writer adds to
// the active layer; the frozen one, while it is being folded, changes no more.
// Values in it are never changed in place.
type layer struct {
	rows     map[string]map[string][]byte // by table; a nil value is a deletion
	entries  map[uint64][]byte
	events   map[messages.ChannelKey][]event
	heads    map[messages.ChannelKey]uint64 // next number of each channel
	counters map[string]uint64
	last     uint64 // number of the newest record
	records  int
}

func newLayer() *layer {
	return &layer{
		rows:     map[string]map[string][]byte{},
		entries:  map[uint64][]byte{},
		events:   map[messages.ChannelKey][]event{},
		heads:    map[messages.ChannelKey]uint64{},
		counters: map[string]uint64{},
	}
}

func (l *layer) apply(r *record) {
	for _, row := range r.rows {
		table := l.rows[row.Table]
		if table == nil {
			table = map[string][]byte{}
			l.rows[row.Table] = table
		}
		table[row.Key] = row.Value
	}
	if r.entryID != 0 {
		l.entries[r.entryID] = r.entry
	}
	for _, e := range r.events {
		events := append(l.events[e.key], e)
		if len(events) >= 2*messages.RingSize && e.key.Retention() == messages.RetainRing {
			events = slices.Clone(events[len(events)-messages.RingSize:]) // the others would go when they are folded
		}
		l.events[e.key] = events
		l.heads[e.key] = e.seq + 1
	}
	for _, c := range r.counters {
		l.counters[c.name] = c.upto
	}
	l.last = r.lsn
	l.records++
}

// raise keeps the numbers of a record whose content is not used, so that none
// of them is handed out again.
func (l *layer) raise(r *record) {
	for _, e := range r.events {
		l.heads[e.key] = max(l.heads[e.key], e.seq+1)
	}
	for _, c := range r.counters {
		l.counters[c.name] = max(l.counters[c.name], c.upto)
	}
	l.last = max(l.last, r.lsn)
}
