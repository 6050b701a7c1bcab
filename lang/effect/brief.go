package effect

import "strings"

// What an answer, an entry or an event shows of effects.
const (
	// BriefMost is how many effects are listed.
	BriefMost = 1000
	// targetMost is how many bytes a target has; no path can be longer.
	targetMost = 4096
	// targetsMost is how many bytes all targets have together.
	targetsMost = 512 << 10
)

// Brief is what is shown of a program's effects: all, or of very many the first
// ones, among them one of every kind that there is. Long targets are cut, so what
// decides over effects looks at the whole list instead.
func Brief(all []Effect) []Effect {
	most, long := min(targetMost, targetsMost/max(min(len(all), BriefMost), 1)), false
	for i := range all {
		long = long || all[i].long(most)
	}
	if len(all) <= BriefMost && !long {
		return all
	}
	out := make([]Effect, 0, min(len(all), BriefMost))
	seen := map[Kind]bool{}
	for _, e := range all {
		if len(out) < BriefMost-len(kindNames) || !seen[e.Kind] || len(all) <= BriefMost {
			out = append(out, e.cut(most))
		}
		seen[e.Kind] = true
	}
	return out
}

func (e *Effect) long(most int) bool {
	return max(len(e.Path), len(e.Host), len(e.Name), len(e.Argv0), len(e.Why), len(e.Origin)) > most
}

func (e Effect) cut(most int) Effect {
	for _, s := range []*string{&e.Path, &e.Host, &e.Name, &e.Argv0, &e.Why, &e.Origin} {
		if len(*s) > most {
			*s = strings.ToValidUTF8((*s)[:most-len("…")], "") + "…"
		}
	}
	return e
}
