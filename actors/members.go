package actors

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

const (
	// membersMax is how many members a session may have besides its owner.
	membersMax = 256
	// principalMax is the longest name of a member in bytes.
	principalMax = 256
)

// memberRow says since when somebody is a member, and who invited.
type memberRow struct {
	By messages.Principal `json:"by"`
	TS int64              `json:"ts"`
}

// loadMembers reads who was invited.
func (h *sessionHost) loadMembers() (map[messages.Principal]bool, error) {
	members := map[messages.Principal]bool{}
	prefix := string(h.name) + "\x00"
	err := h.d.Journal.Scan(tableMember, prefix, func(key string, _ []byte) bool {
		members[messages.Principal(strings.TrimPrefix(key, prefix))] = true
		return true
	})
	return members, err
}

// members answers who the members are; a change is answered when it is safe.
func (s *session) members(m messages.Members, to *actor.PID) {
	h := s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.mayChangeMembersLocked(m); err != nil {
		h.d.Sys.Reply(to, messages.MemberList{Err: err})
		return
	}
	rec := messages.Record{}
	key := string(h.name) + "\x00" + string(m.Params.Member)
	switch has := h.members[m.Params.Member]; {
	case m.Params.Action == messages.MembersAdd && !has && m.Params.Member != h.owner:
		h.members[m.Params.Member] = true
		rec.Rows = []messages.Row{row(tableMember, key, memberRow{By: m.Principal, TS: h.d.Now().UnixNano()})}
	case m.Params.Action == messages.MembersRemove && has:
		delete(h.members, m.Params.Member)
		rec.Rows = []messages.Row{{Table: tableMember, Key: key}}
	}
	list := messages.MemberList{Session: h.name, Owner: h.owner, Members: slices.Sorted(maps.Keys(h.members))}
	if list.Members == nil {
		list.Members = []messages.Principal{}
	}
	if rec.Rows != nil {
		rec.Events = []messages.Draft{{
			Key: messages.ChannelKey{Session: h.name, Name: "session"},
			Payload: messages.JSON(map[string]any{
				"kind": "member", "action": m.Params.Action, "member": m.Params.Member, "principal": m.Principal,
			}),
		}}
	}
	// Also where nothing changes: the change may be on its way to the disk.
	h.d.Journal.Append(rec, func(a messages.Appended) {
		if a.Err != nil {
			list = messages.MemberList{Err: a.Err}
		} else if m.Params.Action == messages.MembersRemove {
			h.d.Cut(h.name, m.Params.Member, m.Conn)
		}
		h.d.Sys.Reply(to, list)
	})
}

// mayChangeMembersLocked refuses who is not to: members look, the owner and the
// kernel's own user change, and everybody may leave.
func (h *sessionHost) mayChangeMembersLocked(m messages.Members) *messages.Error {
	who := m.Params.Member
	changes := m.Params.Action == messages.MembersAdd || m.Params.Action == messages.MembersRemove
	leaves := m.Params.Action == messages.MembersRemove && who == m.Principal
	switch {
	case !h.memberLocked(m.Principal) && !leaves:
		return noMember(m.Principal, h.name)
	case changes && !leaves && m.Principal != h.owner && m.Principal != h.d.Owner:
		return messages.Errorf(messages.CodeLeashDenied, "only its owner, %s, may change the members of session %s", h.owner, h.name).
			With(map[string]string{"dimension": "session", "target": string(h.name)})
	case changes && !validPrincipal(who):
		return messages.Errorf(messages.CodeInvalidParams,
			"member %.80q: expected the name of a principal, such as uid:1000 or agent:name, of at most %d bytes", who, principalMax)
	case m.Params.Action == messages.MembersRemove && (who == h.owner || who == h.d.Owner):
		return messages.Errorf(messages.CodeInvalidParams, "member %s: the owner of a session and the kernel's own user stay its members", who)
	case m.Params.Action == messages.MembersAdd && len(h.members) >= membersMax && !h.members[who]:
		return messages.Errorf(messages.CodeQuota, "session %s has %d members; remove some", h.name, membersMax).
			With(map[string]int{"limit": membersMax, "used": len(h.members)})
	}
	return nil
}

func validPrincipal(p messages.Principal) bool {
	return p != "" && len(p) <= principalMax && utf8.ValidString(string(p)) && strings.IndexFunc(string(p), unicode.IsControl) < 0
}
