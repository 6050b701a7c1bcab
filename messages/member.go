package messages

// What session.members may do.
const (
	MembersList   = "list"
	MembersAdd    = "add"
	MembersRemove = "remove"
)

// MembersParams are the params of session.members.
type MembersParams struct {
	Action string    `json:"action,omitempty"` // list, add or remove; default list
	Member Principal `json:"member,omitempty"` // who is added or removed
}

// Members asks for the members of a session, after one was added or removed.
// The same request again changes nothing more.
type Members struct {
	Conn      string
	Principal Principal
	Params    MembersParams
}

// Reply pairs Members with its answer.
func (Members) Reply(MemberList) {}

// MemberList is the answer of session.members. The kernel's own user is a member
// of every session and is not listed for that.
type MemberList struct {
	Session SessionName `json:"session"`
	Owner   Principal   `json:"owner"`
	Members []Principal `json:"members"` // invited ones, in order
	Err     *Error      `json:"-"`
}
