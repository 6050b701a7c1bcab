package effect

import "strings"

// What an answer, an entry or an event shows of effects.
const (
	// BriefMost is how many effects are listed.
	BriefMost = 1000
	// targetMost is how many bytes a target has; no path can be longer.
	targetMost = 4096
)

// Brief is what is shown of a program's effects: all, or of very many the first
// ones, among them one of every kind that there is. Long targets are cut, so what
// decides over effects looks at the whole list instead.
func Brief(all []Effect) []Effect {
	long := false
	for i := range all {
		long = long || all[i].long()
	}
	if len(all) <= BriefMost && !long {
		return all
	}
	out := make([]Effect, 0, min(len(all), BriefMost))
	seen := map[Kind]bool{}
	for _, e := range all {
		if len(out) < BriefMost-len(kindNames) || !seen[e.Kind] || len(all) <= BriefMost {
			out = append(out, e.cut())
		}
		seen[e.Kind] = true
	}
	return out
}

func (e *Effect) long() bool {
	return len(e.Path) > targetMost || len(e.Host) > targetMost || len(e.Name) > targetMost ||
		len(e.Argv0) > targetMost || len(e.Why) > targetMost || len(e.Origin) > targetMost
}

func (e Effect) cut() Effect {
	for _, s := range []*string{&e.Path, &e.Host, &e.Name, &e.Argv0, &e.Why, &e.Origin} {
		if len(*s) > targetMost {
			*s = strings.ToValidUTF8((*s)[:targetMost-len("…")], "") + "…"
		}
	}
	return e
}
