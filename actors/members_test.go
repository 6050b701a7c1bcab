package actors

import (
	"fmt"
	"testing"

	"shoal.dev/shoal/messages"
)

const guest messages.Principal = "agent:guest"

// members asks as a principal.
func (g *rig) members(p messages.Principal, action string, who messages.Principal) messages.MemberList {
	g.t.Helper()
	return ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.MemberList](messages.Members{
		Conn: "conn-of-" + string(p), Principal: p, Params: messages.MembersParams{Action: action, Member: who},
	}))
}

// enter attaches as a principal.
func (g *rig) enter(p messages.Principal, conn string) *messages.Error {
	g.t.Helper()
	m := g.join("s", conn)
	m.Principal = p
	return ask(g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](m)).Err
}

const openPolicy = `
[principal."agent:owner"]
sessions = ["*"]
[principal."agent:guest"]
sessions = ["*"]
`

func TestMembersAreInvitedAndRemoved(t *testing.T) {
	g := newRig(t)
	var cut []string
	g.d.Cut = func(s messages.SessionName, p messages.Principal, except string) {
		cut = append(cut, fmt.Sprint(s, " ", p, " ", except))
	}
	g.policy.Store(mustPolicy(t, openPolicy))
	const host messages.Principal = "agent:owner"
	if err := g.enter(host, "conn-1"); err != nil {
		t.Fatal(err)
	}
	if err := g.enter(guest, "conn-2"); err == nil || err.Code != messages.CodeLeashDenied {
		t.Fatalf("not invited: %v", err)
	}
	if list := g.members(guest, "list", ""); list.Err == nil || list.Err.Code != messages.CodeLeashDenied {
		t.Errorf("a stranger looks: %+v", list)
	}
	for range 2 { // adding twice is adding once
		list := g.members(host, "add", guest)
		if list.Err != nil || list.Owner != host || len(list.Members) != 1 || list.Members[0] != guest {
			t.Fatalf("add: %+v", list)
		}
	}
	if err := g.enter(guest, "conn-2"); err != nil {
		t.Errorf("invited: %v", err)
	}
	if list := g.members(guest, "add", "agent:friend"); list.Err == nil || list.Err.Code != messages.CodeLeashDenied {
		t.Errorf("a member invites: %+v", list)
	}
	for what, list := range map[string]messages.MemberList{
		"the owner": g.members(owner, "remove", host), "nobody": g.members(host, "add", ""), "a control character": g.members(host, "add", "a\nb"),
	} {
		if list.Err == nil || list.Err.Code != messages.CodeInvalidParams {
			t.Errorf("%s: %+v", what, list)
		}
	}
	g.stop() // membership outlives the kernel
	g = openRig(t, g.dir, Interrupted{})
	g.policy.Store(mustPolicy(t, openPolicy))
	g.d.Cut = func(s messages.SessionName, p messages.Principal, except string) {
		cut = append(cut, fmt.Sprint(s, " ", p, " ", except))
	}
	if err := g.enter(guest, "conn-2"); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if list := g.members(host, "remove", guest); list.Err != nil || len(list.Members) != 0 {
		t.Errorf("remove: %+v", list)
	}
	if len(cut) != 1 || cut[0] != "s agent:guest conn-of-agent:owner" {
		t.Errorf("cut: %v", cut)
	}
	if err := g.enter(guest, "conn-3"); err == nil || err.Code != messages.CodeLeashDenied {
		t.Errorf("removed: %v", err)
	}
	page, err := g.store.Events(messages.ChannelKey{Session: "s", Name: "session"}, nil, 100, false)
	if err != nil || len(page.Events) != 3 {
		t.Errorf("events: %d, %v; want created, added, removed", len(page.Events), err)
	}
}

// Undoing without naming an entry takes what one did oneself.
func TestUndoTakesOnesOwn(t *testing.T) {
	g := newRig(t)
	g.policy.Store(mustPolicy(t, openPolicy+`
[principal."agent:owner".effects]
"fs.write" = ["/**"]
"fs.delete" = ["/**"]
"fs.read" = ["/**"]
[principal."agent:guest".effects]
"fs.write" = ["/**"]
"fs.delete" = ["/**"]
"fs.read" = ["/**"]
`))
	if err := g.enter("agent:owner", "conn-1"); err != nil {
		t.Fatal(err)
	}
	g.members("agent:owner", "add", guest)
	as := func(p messages.Principal, src string) messages.ExecResult {
		return ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.ExecResult](messages.Exec{
			Key: fmt.Sprint("call-", g.calls.Add(1)), Conn: "conn-1", Principal: p,
			Params: messages.ExecParams{Src: src, Position: messages.PositionValue},
		}))
	}
	finished(t, as(guest, `"g".save("of-guest")`))
	finished(t, as("agent:owner", `"o".save("of-owner")`))
	of := g.lastEntry().ID
	refused(t, as(guest, fmt.Sprint("undo ", of)), messages.CodeRaised)
	finished(t, as(guest, "undo"))
	if g.read("of-guest") != "-" || g.read("of-owner") != "o" {
		t.Errorf("of-guest %q, of-owner %q", g.read("of-guest"), g.read("of-owner"))
	}
}
