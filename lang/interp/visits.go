package interp

import (
	"math"
	"slices"
	"strings"
	"time"
)

// maxVisits is how many directories a session remembers; the one that counts
// least is forgotten first.
const maxVisits = 1000

// visit is how often and when last a session went to a directory.
type visit struct {
	times int
	last  time.Time
}

// weight grows with every visit and fades with the hours since the last.
func (v visit) weight(now time.Time) float64 {
	hours := max(0, now.Sub(v.last).Hours())
	return float64(v.times) / (1 + math.Log1p(hours))
}

// visited notes that the session went to a directory.
func (w *world) visited(dir string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.visits == nil {
		w.visits = map[string]visit{}
	}
	w.visits[dir] = visit{w.visits[dir].times + 1, now}
	if len(w.visits) <= maxVisits {
		return
	}
	least := ""
	for d, v := range w.visits {
		if d != dir && (least == "" || v.weight(now) < w.visits[least].weight(now)) {
			least = d
		}
	}
	delete(w.visits, least)
}

// Visited are the directories that the session went to and whose path holds
// query, in any case, the ones that count most first. Those that hold it in
// their name come before the others; the working directory is left out.
func (m *Machine) Visited(query string) []string {
	query = strings.ToLower(query)
	now, here := time.Now(), m.Cwd()
	type match struct {
		dir    string
		named  bool
		weight float64
	}
	var found []match
	m.world.mu.Lock()
	for dir, v := range m.world.visits {
		lower := strings.ToLower(dir)
		if dir != here && strings.Contains(lower, query) {
			named := strings.Contains(lower[strings.LastIndexByte(lower, '/')+1:], query)
			found = append(found, match{dir, named, v.weight(now)})
		}
	}
	m.world.mu.Unlock()
	slices.SortFunc(found, func(a, b match) int {
		switch {
		case a.named != b.named:
			if a.named {
				return -1
			}
			return 1
		case a.weight != b.weight:
			if a.weight > b.weight {
				return -1
			}
			return 1
		}
		return strings.Compare(a.dir, b.dir)
	})
	out := make([]string, len(found))
	for i, f := range found {
		out[i] = f.dir
	}
	return out
}
