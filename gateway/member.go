package gateway

import (
	"encoding/json"
	"errors"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// errRemoved is why the connections of somebody end who is no member any more.
var errRemoved = errors.New("no member of the session any more")

// members lists the session's members, and adds or removes one.
func (b *backend) members(p messages.MembersParams) (wire.Call, *messages.Error) {
	switch p.Action {
	case "":
		p.Action = messages.MembersList
	case messages.MembersList, messages.MembersAdd, messages.MembersRemove:
	default:
		return nil, messages.Errorf(messages.CodeInvalidParams, "action: expected \"list\", \"add\" or \"remove\", not %q", p.Action)
	}
	if (p.Member == "") != (p.Action == messages.MembersList) {
		return nil, messages.Errorf(messages.CodeInvalidParams, "member: give who is added or removed, and nobody to list")
	}
	return ask(b, b.g.o.To.Session(b.session), messages.Members{Conn: b.conn, Principal: b.principal, Params: p},
		func(list messages.MemberList) (json.RawMessage, *messages.Error) {
			if list.Err != nil {
				return nil, list.Err
			}
			return messages.JSON(list), nil
		}), nil
}

// Cut ends the connections of a principal to a session, also those that are
// being attached, but for one: who leaves is answered.
func (g *Gateway) Cut(session messages.SessionName, p messages.Principal, except string) {
	for _, s := range g.seated() {
		b := s.joins.Load()
		if b != nil && b.session == session && b.principal == p && b.conn != except {
			s.end(errRemoved)
		}
	}
}
