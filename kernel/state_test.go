package kernel

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func TestOneKernelOwnsAStateDirectory(t *testing.T) {
	o, _ := options(t)
	k := start(t, o)
	other := o
	other.Paths.Socket += "2"
	refuses(t, other, "another kernel owns the state directory")
	if got := attach(t, k).call("kernel.info", nil)["kernel_id"]; got != k.id {
		t.Errorf("the first kernel does not serve: %v", got)
	}
}

func TestDirectoriesArePrivate(t *testing.T) {
	o, _ := options(t)
	k := start(t, o)
	for _, name := range []string{"", "journal", "blobs", "log", "trash", "run"} {
		info, err := os.Stat(filepath.Join(o.Paths.StateDir, name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%q: got %v %v, want 0700", name, info.Mode(), err)
		}
	}
	info, err := os.Stat(k.Socket())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: got %v %v, want 0600", info.Mode(), err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	o, _ := options(t)
	start(t, o).Stop(t.Context())
	files, err := filepath.Glob(filepath.Join(o.Paths.StateDir, "journal", "*"))
	if err != nil {
		t.Fatal(err)
	}
	changed := false
	for _, path := range files {
		db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
		if err != nil {
			continue
		}
		err = db.Update(func(tx *bolt.Tx) error {
			return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
				return b.ForEach(func(k, v []byte) error {
					if strings.Contains(string(k), "schema") || strings.Contains(string(k), "version") {
						changed = true
						next := append([]byte(nil), v...)
						for i := range next {
							next[i] = '9'
							if v[i] < '0' {
								next[i] = 0x7f
							}
						}
						return b.Put(k, next)
					}
					return nil
				})
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	if !changed {
		t.Fatal("the store has no version that could be changed")
	}
	refuses(t, o, "schema")
}

func TestDamagedKernelID(t *testing.T) {
	for _, text := range []string{"", "zz", "0123456789abcdeg\n", strings.Repeat("a", 17)} {
		o, _ := options(t)
		write(t, filepath.Join(o.Paths.StateDir, "id"), text)
		if err := os.Chmod(o.Paths.StateDir, 0o700); err != nil {
			t.Fatal(err)
		}
		refuses(t, o, "it holds no kernel id")
	}
}

func TestKernelIDStays(t *testing.T) {
	o, _ := options(t)
	k := start(t, o)
	first := k.id
	k.Stop(t.Context())
	if k := start(t, o); k.id != first {
		t.Errorf("got %s, then %s", first, k.id)
	}
}

func TestSocketPathsOfOthers(t *testing.T) {
	t.Run("file", func(t *testing.T) {
		o, _ := options(t)
		write(t, o.Paths.Socket, "precious")
		refuses(t, o, "something that is no socket is there")
		if b, err := os.ReadFile(o.Paths.Socket); string(b) != "precious" {
			t.Errorf("the file was touched: %q %v", b, err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		o, _ := options(t)
		if err := os.Mkdir(o.Paths.Socket, 0o700); err != nil {
			t.Fatal(err)
		}
		refuses(t, o, "something that is no socket is there")
	})
	t.Run("live", func(t *testing.T) {
		o, _ := options(t)
		l, err := net.Listen("unix", o.Paths.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		refuses(t, o, "another kernel answers there")
		if _, err := os.Stat(o.Paths.Socket); err != nil {
			t.Errorf("the live socket was removed: %v", err)
		}
	})
	t.Run("dead", func(t *testing.T) {
		o, _ := options(t)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.Paths.Socket, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
		attach(t, start(t, o))
	})
}

func TestVanishedSocketIsBoundAgain(t *testing.T) {
	o, log := options(t)
	o.SocketCheck = 5 * time.Millisecond
	k := start(t, o)
	before := attach(t, k)
	if err := os.Remove(k.Socket()); err != nil {
		t.Fatal(err)
	}
	within(t, "the socket is back", func() bool { return log.has("bound again") })
	attach(t, k).call("kernel.info", nil)
	before.call("kernel.info", nil)
	// What is not ours in its place stays.
	if err := os.Remove(k.Socket()); err != nil {
		t.Fatal(err)
	}
	write(t, k.Socket(), "precious")
	within(t, "the kernel has seen it", func() bool { return log.has("cannot be bound again") || fileGone(k.Socket()) })
	before.call("kernel.info", nil)
}

func fileGone(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().Type() == os.ModeSocket
}

func TestFailedStartLeavesNothing(t *testing.T) {
	o, _ := options(t)
	write(t, o.Paths.Socket, "x")
	before := descriptors(t)
	refuses(t, o, "no socket")
	after := descriptors(t)
	for kind, n := range after {
		if kind != "anon_inode" && n > before[kind] {
			t.Errorf("%d descriptors of %s, before %d", n, kind, before[kind])
		}
	}
	if err := os.Remove(o.Paths.Socket); err != nil {
		t.Fatal(err)
	}
	start(t, o)
}
