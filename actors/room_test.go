package actors

import (
	"testing"

	"shoal.dev/shoal/messages"
)

// Where there is no room for another session, the one that has been unused for
// longest goes, and comes back when it is wanted; one in use never does.
func TestUnusedSessionsMakeRoom(t *testing.T) {
	g := newRig(t)
	g.sessions.limit = 3
	leave := func(name messages.SessionName) {
		ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.Detached{Session: name, Conn: "conn-1"}))
		g.clock.Add(int64(2 * evictTime))
	}
	for _, name := range []messages.SessionName{"used", "older", "newer"} {
		g.attach(name)
		finished(t, g.run(name, "let me = \""+string(name)+"\""))
		g.clock.Add(int64(2 * evictTime))
	}
	try := g.join("fourth", "conn-1")
	info := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](try))
	if info.Err == nil || info.Err.Code != messages.CodeQuota {
		t.Fatalf("all in use: got %v, want the quota", info.Err)
	}
	leave("older")
	leave("newer")
	if info := g.attach("fourth"); info.Err != nil {
		t.Fatalf("two are unused: got %v", info.Err)
	}
	if g.sessions.get("older") != nil || g.sessions.get("newer") == nil || g.sessions.get("used") == nil {
		t.Error("not the one that was unused for longest has gone")
	}
	if got := g.render("older", "me"); got != "older" {
		t.Errorf("after it came back: got %s", got)
	}
	if g.sessions.get("newer") != nil {
		t.Error("no room was made for the one that came back")
	}
}

// A name that policy does not permit is not taken by who may not use it.
func TestForbiddenNamesAreNotTaken(t *testing.T) {
	g := newRig(t)
	m := g.join("s", "conn-2")
	m.Principal = "agent:x"
	info := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](m))
	if info.Err == nil || info.Err.Code != messages.CodeLeashDenied {
		t.Fatalf("got %v, want it denied", info.Err)
	}
	if g.sessions.get("s") != nil {
		t.Error("the session was made")
	}
}
