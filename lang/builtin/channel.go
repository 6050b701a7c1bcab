package builtin

import (
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// channelRows are the methods of the record {channel: name}; other records do
// not have them.
func channelRows() []methodRow {
	return []methodRow{
		{records, "emit(v: any)", "Sends a value to the channel.", channelEmit},
		{records, "latest()", "The newest value sent to the channel, or null.", channelLatest},
	}
}

var channelShape = value.ShapeOf("channel")

// channelName is the name in exactly the record that channel() makes.
func channelName(c *interp.Call) (string, error) {
	r := c.Recv.AsRecord()
	if len(r.Vals) == 1 {
		if name, ok := r.Get("channel"); ok && name.Kind() == value.KindStr {
			return name.AsStr(), nil
		}
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

func channelEmit(c *interp.Call, a []value.Value) (value.Value, error) {
	to, name, err := channels(c)
	if err != nil {
		return value.Null, err
	}
	payload, jsonErr := value.EncodeJSON(nil, a[0], false)
	if jsonErr != nil {
		return value.Null, jsonErr.WithSpan(spanOf(c.Span))
	}
	return value.Null, hostErr(c, to.Emit(c.M.Context(), name, payload))
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
