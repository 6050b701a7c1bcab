package builtin

import (
	"slices"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// channelRows are the methods of the record {channel: name}; other records do
// not have them.
func channelRows() []methodRow {
	return []methodRow{
		{records, "emit(v: any)", "Sends a value to the channel.", channelEmit},
		{records, "latest()", "The newest value sent to the channel, or null.", channelLatest},
		{records, "events(*, since?: count)", "The channel's events {channel, seq, ts, payload}: those after since, or all that are kept, then the live ones.", channelEvents},
		{records, "take(*, timeout?: duration)", "Waits for the next value sent to the channel.", channelTake},
	}
}

// sessionChannels are those that the kernel writes for a session.
var sessionChannels = []string{"journal", "approval", "render", "session", "session.transcript"}

// IsSessionChannel reports whether a channel is one that the kernel writes for a
// session: programs may read it, which is reading the journal.
func IsSessionChannel(name string) bool { return slices.Contains(sessionChannels, name) }

// channelEffects are for channel(name).
func channelEffects(args []interp.EffectArg, _ string) []effect.Effect {
	return readsChannel(firstOr(args, "name"))
}

// onEffects are for on(channel, handler).
func onEffects(args []interp.EffectArg, _ string) []effect.Effect {
	return readsChannel(firstOr(args, "channel"))
}

// channelMethodEffects are for the methods that only channels have.
func channelMethodEffects(recv interp.EffectArg, _ []interp.EffectArg, _ string) []effect.Effect {
	return readsChannel([]interp.EffectArg{recv})
}

// readsChannel are the effects of reading the channel that the argument is or
// names: its name may not be known before the program runs, or only how it begins.
func readsChannel(of []interp.EffectArg) []effect.Effect {
	if len(of) == 0 {
		return nil
	}
	if a := of[0]; !a.Known {
		isBeginning := func(name string) bool { return strings.HasPrefix(name, a.Prefix) }
		if !slices.ContainsFunc(sessionChannels, isBeginning) {
			return nil
		}
		return []effect.Effect{{Kind: effect.JournalRead, Why: "channel: not known before it runs"}}
	}
	name, ok := nameOf(of[0].Value)
	if of[0].Value.Kind() == value.KindStr {
		name, ok = of[0].Value.AsStr(), true
	}
	if !ok || !IsSessionChannel(name) {
		return nil
	}
	return []effect.Effect{{Kind: effect.JournalRead}}
}

var channelShape = value.ShapeOf("channel")

// nameOf is the name in exactly the record that channel() makes.
func nameOf(v value.Value) (string, bool) {
	if v.Kind() != value.KindRecord || len(v.AsRecord().Vals) != 1 {
		return "", false
	}
	name, ok := v.AsRecord().Get("channel")
	if !ok || name.Kind() != value.KindStr {
		return "", false
	}
	return name.AsStr(), true
}

// channelArg is the name in a channel or name argument.
func channelArg(c *interp.Call, v value.Value) (string, error) {
	if v.Kind() == value.KindStr && v.AsStr() != "" {
		return v.AsStr(), nil
	}
	if name, ok := nameOf(v); ok {
		return name, nil
	}
	return "", typeErr(c.Span, "%s: expected a channel or its name, got %s", c.Name, v.Kind())
}

// channelName is the name of the channel that is the receiver.
func channelName(c *interp.Call) (string, error) {
	if name, ok := nameOf(c.Recv); ok {
		return name, nil
	}
	return "", hintErr(c.Span, value.CodeType, "channel(name)."+c.Name+"(…)", "`.%s` applies to channels only", c.Name)
}

func channels(c *interp.Call) (interp.Channels, string, error) {
	name, err := channelName(c)
	if err != nil {
		return nil, "", err
	}
	if c.M.Host().Channels == nil {
		return nil, "", argErr(c.Span, "%s: this host has no channels", c.Name)
	}
	return c.M.Host().Channels, name, nil
}

// publishable refuses the names that belong to the kernel.
func publishable(c *interp.Call, name string) error {
	owned := name == "journal" || name == "approval" || name == "render"
	for _, prefix := range []string{"task.", "pty.", "session", "kernel"} {
		owned = owned || strings.HasPrefix(name, prefix)
	}
	if !owned {
		return nil
	}
	return hintErr(c.Span, value.CodePermission, "use a name such as user."+name, "%s: channel %s belongs to the kernel", c.Name, name)
}

func channelEmit(c *interp.Call, a []value.Value) (value.Value, error) {
	to, name, err := channels(c)
	if err == nil {
		err = publishable(c, name)
	}
	if err != nil {
		return value.Null, err
	}
	payload, err := eventPayload(c, a[0])
	if err != nil {
		return value.Null, err
	}
	return value.Null, hostErr(c, to.Emit(c.M.Context(), name, payload))
}

// payloadText is from how many bytes on a text is too long for any host's events.
const payloadText = 16 << 20

// eventPayload is a value as JSON for an event.
func eventPayload(c *interp.Call, v value.Value) ([]byte, error) {
	if v.Kind() == value.KindStr && len(v.AsStr()) > payloadText {
		return nil, hintErr(c.Span, value.CodeArg, "save the value and emit its path", "%s: a text of %d MiB is too long for an event", c.Name, len(v.AsStr())>>20)
	}
	payload, err := value.EncodeJSON(nil, v, false)
	if err != nil {
		return nil, err.WithSpan(spanOf(c.Span))
	}
	return payload, nil
}

func channelLatest(c *interp.Call, _ []value.Value) (value.Value, error) {
	from, name, err := channels(c)
	if err != nil {
		return value.Null, err
	}
	payload, err := from.Latest(c.M.Context(), name)
	if err != nil || payload == nil {
		return value.Null, hostErr(c, err)
	}
	v, jsonErr := value.ParseJSON(string(payload))
	return v, raised(jsonErr)
}
