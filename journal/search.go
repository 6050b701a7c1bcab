package journal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// search is one walk down the ids. Folded rows come from the intersection of
// index sets, unfolded ones from the layers, which hide folded rows of the same
// id.
type search struct {
	f      filter
	limit  int
	max    uint64        // greatest id that may be returned
	budget time.Duration // 0: none
	only   bool          // just the id max

	hits    []messages.Entry
	scanned int
	more    bool // there are, or may be, further rows; max says where
	cut     bool // the budget ran out before the end
	late    bool // the budget has run out
	check   int  // look at the clock again when scanned is this

	over    []overEntry     // unfolded rows that match, newest first
	hidden  map[uint64]bool // ids of all unfolded rows
	sets    []ids
	entries *bolt.Bucket
	blocks  *bolt.Bucket
	began   time.Time

	block    uint64 // the block that skip describes
	blockSet bool
	skip     bool
}

type overEntry struct {
	id  uint64
	row entryRow
}

func (s *Store) search(r *search) error {
	r.began = time.Now()
	var bad error
	err := s.snapshot(func(layers []*layer) bool {
		bad = r.collect(layers)
		return bad != nil
	}, func(tx *bolt.Tx) error {
		r.sets = r.f.sets(tx)
		r.entries, r.blocks = tx.Bucket(bucketEntry), tx.Bucket(bucketBlock)
		return r.run()
	})
	if bad != nil {
		return bad
	}
	return err
}

// collect takes what matches out of the layers.
func (r *search) collect(layers []*layer) error {
	r.hidden = map[uint64]bool{}
	for _, l := range layers {
		for id, value := range l.entries {
			if id > r.max || r.hidden[id] {
				continue
			}
			r.hidden[id] = true
			row, err := parseEntry(value)
			if err != nil {
				return fmt.Errorf("entry %d: %w", id, err)
			}
			if r.matches(&row) {
				r.over = append(r.over, overEntry{id, row})
			}
		}
	}
	slices.SortFunc(r.over, func(a, b overEntry) int { return cmp.Compare(b.id, a.id) })
	return nil
}

func (r *search) matches(row *entryRow) bool { return r.only || r.f.match(row) }

// run goes down until the limit, the budget or the last id. max is the greatest
// id not yet decided.
func (r *search) run() error {
	least := uint64(0)
	if r.only {
		least = r.max
	}
	id, found := r.intersect(r.max)
	for {
		folded := found && id >= least
		if len(r.over) > 0 && r.over[0].id >= least && (!folded || r.over[0].id >= id) {
			if full, err := r.keep(r.over[0].id, &r.over[0].row); full || err != nil {
				return err
			}
			r.over = r.over[1:]
			continue
		}
		if !folded {
			return nil
		}
		if r.spent() {
			if r.hidden[id] {
				id-- // the layers have decided about it
			}
			r.max, r.more, r.cut = id, true, true
			return nil
		}
		next, full, err := r.look(id)
		if full || err != nil {
			return err
		}
		if next == math.MaxUint64 {
			found = false
		} else {
			id, found = r.intersect(next)
		}
	}
}

// spent reports whether the budget is used up. It looks at the clock at every
// 64th step, so that every call gets on.
func (r *search) spent() bool {
	if r.late || r.budget == 0 || r.scanned < r.check {
		return r.late
	}
	r.check = r.scanned + 64
	r.late = r.scanned > 64 && time.Since(r.began) > r.budget
	return r.late
}

// look decides about the folded row id and returns where to go on: id-1, or
// the end of the block before; MaxUint64 when there is nothing below.
func (r *search) look(id uint64) (next uint64, full bool, err error) {
	if r.outside(id) {
		return (id>>blockBits)<<blockBits - 1, false, nil
	}
	if r.hidden[id] {
		return id - 1, false, nil
	}
	value := r.entries.Get(be64(id))
	if value == nil {
		return 0, false, fmt.Errorf("entry %d: index names it, store does not hold it", id)
	}
	row, err := parseEntry(value)
	if err != nil {
		return 0, false, fmt.Errorf("entry %d: %w", id, err)
	}
	if r.matches(&row) {
		full, err = r.keep(id, &row)
	}
	return id - 1, full, err
}

// keep adds a row, or says that there is one more than the limit.
func (r *search) keep(id uint64, row *entryRow) (full bool, err error) {
	if len(r.hits) == r.limit {
		r.max, r.more = id, true
		return true, nil
	}
	e, err := row.decode()
	if err != nil {
		return false, fmt.Errorf("entry %d: %w", id, err)
	}
	r.hits = append(r.hits, e)
	return false, nil
}

// outside reports whether the id's block lies outside the times asked for.
func (r *search) outside(id uint64) bool {
	if !r.f.timed {
		return false
	}
	if block := id >> blockBits; !r.blockSet || block != r.block {
		lo, hi, ok := blockTimes(r.blocks.Get(be64(block)))
		r.block, r.blockSet = block, true
		r.skip = ok && (hi < r.f.since || lo >= r.f.until)
	}
	return r.skip
}

// intersect is the greatest id at most max that all sets hold: each set in turn
// lowers the candidate until all agree, or until the budget is used up; then
// the answer is as far as it got.
func (r *search) intersect(max uint64) (uint64, bool) {
	id := max
	for agreed := 0; agreed < len(r.sets) && !r.spent(); {
		r.scanned++
		for _, set := range r.sets {
			got, ok := set.seek(id)
			if !ok {
				return 0, false
			}
			if got == id {
				agreed++
			} else {
				id, agreed = got, 1
			}
			if agreed >= len(r.sets) {
				break
			}
		}
	}
	return id, true
}
