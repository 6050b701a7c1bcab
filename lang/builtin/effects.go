package builtin

import (
	"path"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// operands are the arguments that are no flags. A flag in takes that stands
// without a value uses the argument after it.
func operands(args []interp.EffectArg, takes []string) []interp.EffectArg {
	var out []interp.EffectArg
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Flag == "" {
			out = append(out, a)
			continue
		}
		if slices.Contains(takes, a.Flag) && a.Value.IsNull() {
			i++
		}
	}
	return out
}

// hasFlag reports whether one of the flags is among args.
func hasFlag(args []interp.EffectArg, names ...string) bool {
	return slices.ContainsFunc(args, func(a interp.EffectArg) bool { return slices.Contains(names, a.Flag) })
}

// pathEffect is one effect on the file that an argument names.
func pathEffect(kind effect.Kind, a interp.EffectArg, cwd string) effect.Effect {
	if !a.Known {
		return effect.Effect{Kind: kind, Path: effect.Any}
	}
	target := ""
	switch a.Value.Kind() {
	case value.KindStr, value.KindPath:
		target = a.Value.AsStr()
	case value.KindGlob:
		target = a.Value.AsGlob().Pattern
	}
	// Where ~ is depends on the session's HOME, which a plan does not fix.
	if target == "" || target == "~" || strings.HasPrefix(target, "~/") {
		return effect.Effect{Kind: kind, Path: effect.Any}
	}
	if !strings.HasPrefix(target, "/") {
		target = cwd + "/" + target
	}
	return effect.Effect{Kind: kind, Path: path.Clean(target)}
}

// pathEffects is pathEffect for each argument.
func pathEffects(kind effect.Kind, args []interp.EffectArg, cwd string) []effect.Effect {
	out := make([]effect.Effect, 0, len(args))
	for _, a := range args {
		out = append(out, pathEffect(kind, a, cwd))
	}
	return out
}

func writeEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	return pathEffects(effect.FSWrite, operands(args, nil), cwd)
}

func deleteEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	return pathEffects(effect.FSDelete, operands(args, nil), cwd)
}

// copyEffects reads all sources and writes the destination.
func copyEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	of := operands(args, nil)
	if len(of) == 0 {
		return nil
	}
	last := len(of) - 1
	return append(pathEffects(effect.FSRead, of[:last], cwd), pathEffect(effect.FSWrite, of[last], cwd))
}

func moveEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	of := operands(args, nil)
	if len(of) == 0 {
		return nil
	}
	return append(copyEffects(args, cwd), pathEffects(effect.FSDelete, of[:len(of)-1], cwd)...)
}

// linkEffects writes the link. A hard link is one more name of a file, under
// which it can be read and written, so it counts as both.
func linkEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	of := operands(args, nil)
	target, link := of[:min(1, len(of))], of[min(1, len(of)):]
	out := pathEffects(effect.FSWrite, link, cwd)
	if hasFlag(args, "symbolic", "s") {
		return out
	}
	out = append(out, pathEffects(effect.FSRead, target, cwd)...)
	return append(out, pathEffects(effect.FSWrite, target, cwd)...)
}

// firstWriteEffects writes what the first argument, or the one called path,
// names.
func firstWriteEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	return pathEffects(effect.FSWrite, firstOr(args, "path"), cwd)
}

// firstOr is the first argument, or the one of that name.
func firstOr(args []interp.EffectArg, name string) []interp.EffectArg {
	for _, a := range args {
		if a.Flag == name {
			return []interp.EffectArg{a}
		}
	}
	of := operands(args, nil)
	return of[:min(1, len(of))]
}

// saveMethodEffects is for recv.save(path).
func saveMethodEffects(_ interp.EffectArg, args []interp.EffectArg, cwd string) []effect.Effect {
	return firstWriteEffects(args, cwd)
}

func envEffects(args []interp.EffectArg, _ string) []effect.Effect {
	name := effect.Any
	if of := operands(args, nil); len(of) > 0 && of[0].Known && of[0].Value.Kind() == value.KindStr {
		name = of[0].Value.AsStr()
	}
	return []effect.Effect{{Kind: effect.EnvRead, Name: name}}
}

// only is the effects of a row that has always the same; none at all is for
// rows that wait for the host without doing anything to the world.
func only(kinds ...effect.Kind) interp.EffectFunc {
	return func([]interp.EffectArg, string) []effect.Effect {
		var out []effect.Effect
		for _, k := range kinds {
			out = append(out, effect.Effect{Kind: k})
		}
		return out
	}
}

// globEffects is for glob(pattern): its value may be read later, anywhere.
func globEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	return pathEffects(effect.FSRead, firstOr(args, "pattern"), cwd)
}

// runEffects is a program or script whose doings cannot be followed here.
func runEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	of := firstOr(args, "target")
	argv0 := effect.Any
	if len(of) > 0 && of[0].Known && (of[0].Value.Kind() == value.KindStr || of[0].Value.Kind() == value.KindPath) {
		argv0 = of[0].Value.AsStr()
	}
	if strings.HasSuffix(argv0, ".shl") {
		return append(pathEffects(effect.FSRead, of, cwd), effect.Effect{Kind: effect.Opaque, Why: "script " + argv0})
	}
	out := []effect.Effect{{Kind: effect.ProcSpawn, Argv0: argv0}}
	for _, tool := range interp.RunnerTools(argv0) {
		out = append(out, effect.Effect{Kind: effect.ProcSpawn, Argv0: tool})
	}
	return append(out, effect.Effect{Kind: effect.Opaque, Why: "program " + argv0})
}

// followEffects is for watch(p) and tail(p).
func followEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	return pathEffects(effect.FSRead, firstOr(args, "p"), cwd)
}
