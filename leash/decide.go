package leash

import (
	"net"
	"strings"

	"shoal.dev/shoal/lang/effect"
)

// Scene is what patterns are relative to.
type Scene struct {
	Cwd      string                   // the session's first working directory: $CWD
	Home     string                   // the owner's home: ~
	LookPath func(name string) string // the kernel's PATH, never the session's; "" if not found
}

// dimensions says which kind of confinement an effect belongs to.
var dimensions = map[effect.Kind]string{
	effect.FSRead: "filesystem", effect.FSWrite: "filesystem", effect.FSDelete: "filesystem",
	effect.ProcSpawn: "spawn_identity", effect.Opaque: "spawn_identity",
	effect.NetConnect: "network", effect.NetListen: "network",
}

// Dimension is the kind of confinement an effect belongs to.
func Dimension(k effect.Kind) string {
	if d, ok := dimensions[k]; ok {
		return d
	}
	return "session"
}

// Decide judges all effects of a plan: the strictest one decides. Reversible
// asks run unasked where auto_apply says so.
func (r *Rules) Decide(effects []effect.Effect, rev effect.Reversibility, sc Scene) Verdict {
	worst := Verdict{Outcome: Allow}
	for _, e := range effects {
		if v := r.Judge(e, sc); v.Outcome > worst.Outcome {
			worst = v
		}
	}
	switch {
	case worst.Outcome == Allow && r.AutoApply == Never && len(effects) > 0:
		worst = r.verdict(Ask, effects[0], `auto_apply = "never"`)
	case worst.Outcome == Ask && r.AutoApply == Reversible && rev == effect.Reversible:
		worst.Outcome = Allow
	}
	return worst
}

// Judge decides about one effect with a concrete target, or with the target
// "*" of an argument that only running will tell.
func (r *Rules) Judge(e effect.Effect, sc Scene) Verdict {
	if e.Kind == effect.Opaque {
		return r.verdict(r.Opaque, e, `opaque = "`+r.Opaque.String()+`"`)
	}
	lists, named := r.Effects[e.Kind.String()]
	if !named {
		if r.Open {
			return r.verdict(Allow, e, "not listed")
		}
		return r.verdict(Deny, e, "not listed")
	}
	if e.Target() == effect.Any {
		return r.judgeAny(e, lists)
	}
	for _, step := range []struct {
		patterns []string
		outcome  Outcome
	}{{lists.Deny, Deny}, {lists.Ask, Ask}, {lists.Allow, Allow}} {
		for _, pattern := range step.patterns {
			if matches(pattern, e, sc) {
				return r.verdict(step.outcome, e, rule(e.Kind, step.outcome, pattern))
			}
		}
	}
	return r.verdict(Deny, e, e.Kind.Dotted()+" lists do not name it")
}

// judgeAny decides before running, when the target is unknown: what is used
// then is judged when it is used.
func (r *Rules) judgeAny(e effect.Effect, lists Lists) Verdict {
	switch {
	case len(lists.Allow) > 0:
		return r.verdict(Allow, e, rule(e.Kind, Allow, effect.Any))
	case len(lists.Ask) > 0:
		return r.verdict(Ask, e, rule(e.Kind, Ask, effect.Any))
	default:
		return r.verdict(Deny, e, e.Kind.Dotted()+" has no allow entry")
	}
}

func rule(k effect.Kind, o Outcome, pattern string) string {
	return `"` + k.Dotted() + `".` + o.String() + ` "` + pattern + `"`
}

func (r *Rules) verdict(o Outcome, e effect.Effect, why string) Verdict {
	v := Verdict{Outcome: o, Effect: e, Dimension: Dimension(e.Kind), Rule: why}
	if o != Allow && e.Kind != effect.Opaque {
		v.Grant = `"` + e.Kind.Dotted() + `" = ["` + e.Target() + `"]`
	}
	return v
}

// matches tests a pattern against an effect's target.
func matches(pattern string, e effect.Effect, sc Scene) bool {
	switch e.Kind {
	case effect.FSRead, effect.FSWrite, effect.FSDelete:
		return matchPath(expand(pattern, sc), e.Path)
	case effect.ProcSpawn:
		return matchProgram(pattern, e, sc)
	case effect.NetConnect:
		return matchHostPort(pattern, e.Host, e.Port)
	case effect.NetListen:
		return pattern == "*" || pattern == e.Port
	case effect.EnvRead, effect.EnvWrite, effect.SecretUse:
		return matchSegment(pattern, e.Name)
	default:
		return pattern == "true"
	}
}

// matchProgram tests an executable. A bare name means the file that the
// kernel's own PATH gives, so a session cannot smuggle another in.
func matchProgram(pattern string, e effect.Effect, sc Scene) bool {
	target := e.Path
	if target == "" {
		target = e.Argv0
	}
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~/") || strings.HasPrefix(pattern, "$CWD") {
		return matchPath(expand(pattern, sc), target)
	}
	if !strings.Contains(target, "/") {
		return pattern == target || pattern == "*"
	}
	if pattern == "*" {
		return true
	}
	return sc.LookPath != nil && sc.LookPath(pattern) == target && target != ""
}

// matchHostPort tests "host:port" with a glob for the host and "*" for any
// port.
func matchHostPort(pattern, host, port string) bool {
	ph, pp, err := net.SplitHostPort(pattern)
	if err != nil {
		return false
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return matchSegment(strings.ToLower(ph), host) && (pp == "*" || pp == port)
}
