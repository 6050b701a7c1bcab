package gateway_test

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"shoal.dev/shoal/kernel"
)

// strangerUID is a user that has no part in the kernel.
const strangerUID = 65534

// dialAs connects as another user: the kernel sees the user of the connecting
// thread, which ends with its goroutine.
func (w *world) dialAs(uid, gid int) *client {
	w.t.Helper()
	type dialed struct {
		c   net.Conn
		err error
	}
	done := make(chan dialed)
	go func() {
		runtime.LockOSThread()
		keep := ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESGID, keep, uintptr(gid), keep); errno != 0 {
			done <- dialed{nil, errno}
			return
		}
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
			done <- dialed{nil, errno}
			return
		}
		c, err := net.Dial("unix", w.k.Socket())
		done <- dialed{c, err}
	}()
	d := <-done
	if d.err != nil {
		w.t.Fatal(d.err)
	}
	w.t.Cleanup(func() { d.c.Close() })
	return &client{t: w.t, c: d.c, in: bufio.NewReader(d.c), answers: map[int]answer{}}
}

// Another user is let in when it was invited; when it is removed its connection
// ends, and it is not let in again.
func TestRemovedMemberIsCutOff(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	group, err := user.LookupGroupId(strconv.Itoa(strangerUID))
	if err != nil {
		t.Skip("no group for the other user")
	}
	w := newWorld(t, func(o *kernel.Options) {
		o.SocketGroup = group.Name
		o.Paths.Socket = filepath.Join(filepath.Dir(o.Paths.StateDir), "run", "s")
		o.Policy = filepath.Join(filepath.Dir(o.Paths.StateDir), "policy.toml")
		if err := os.Chmod(filepath.Dir(o.Paths.StateDir), 0o711); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(o.Paths.Socket)
		if err := errors.Join(os.Mkdir(dir, 0o710), os.Chmod(dir, 0o710), os.Chown(dir, -1, strangerUID)); err != nil {
			t.Fatal(err)
		}
		policy := "[principal.\"uid:" + strconv.Itoa(strangerUID) + "\"]\nsessions = [\"shared\"]\n"
		if err := os.WriteFile(o.Policy, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	host := w.attach("shared")
	guest := "uid:" + strconv.Itoa(strangerUID)
	join := map[string]any{"session": "shared", "cwd": w.dir}
	w.dialAs(strangerUID, strangerUID).code(-32010, "session.attach", join)
	host.code(-32602, "session.members", map[string]any{"action": "add"})
	host.code(-32602, "session.members", map[string]any{"member": guest})
	host.code(-32602, "session.members", map[string]any{"action": "expel", "member": guest})

	added := host.ok("session.members", map[string]any{"action": "add", "member": guest})
	if list, _ := added["members"].([]any); len(list) != 1 || list[0] != guest {
		t.Fatalf("added: %v", added)
	}
	c := w.dialAs(strangerUID, strangerUID)
	c.ok("session.attach", join)
	c.code(-32010, "session.members", map[string]any{"action": "add", "member": "uid:1"})
	c.ok("session.members", nil)
	removed := host.ok("session.members", map[string]any{"action": "remove", "member": guest})
	if list, _ := removed["members"].([]any); list == nil || len(list) != 0 {
		t.Errorf("removed: %v", removed)
	}
	if c.read() {
		t.Error("the connection of the removed member lives on")
	}
	w.dialAs(strangerUID, strangerUID).code(-32010, "session.attach", join)
	host.ok("session.members", map[string]any{"action": "list"})
}
