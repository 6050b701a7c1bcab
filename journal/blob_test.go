package journal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/zeebo/blake3"

	"shoal.dev/shoal/messages"
)

func content(n int, random bool) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b {
		if random {
			b[i] = byte(r.Uint32())
		} else {
			b[i] = "a line of some text that repeats\n"[i%33]
		}
	}
	return b
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	if err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, p)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBlobRoundTrip(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	for _, n := range []int{0, 1, 1000, blobFrame - 1, blobFrame, blobFrame + 1, 3*blobFrame + 17} {
		for _, random := range []bool{false, true} {
			want := content(n, random)
			blob, err := s.PutBlob(iotest.HalfReader(bytes.NewReader(want)))
			if err != nil {
				t.Fatal(err)
			}
			sum := blake3.Sum256(want)
			if blob != (messages.Blob{Hash: hex.EncodeToString(sum[:]), Len: int64(n)}) {
				t.Errorf("%d bytes: blob %+v", n, blob)
			}
			again, err := s.PutBlob(bytes.NewReader(want))
			if again != blob || err != nil {
				t.Errorf("put again: %+v %v", again, err)
			}
			r, size, err := s.OpenBlob(blob.Hash)
			if err != nil || size != int64(n) {
				t.Fatalf("open: %d %v", size, err)
			}
			if err := iotest.TestReader(r, want); err != nil {
				t.Errorf("%d bytes: %v", n, err)
			}
			r.Close()
		}
	}
	if left := files(t, filepath.Join(opt.BlobDir, "tmp")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestBlobDamageIsNeverServed(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	want := content(2*blobFrame+100, true)
	blob, err := s.PutBlob(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	path := s.blobs.path(blob.Hash)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := []int{0, 5, blobFrame, 2*blobFrame + 50}
	for i := len(whole) - 3*blobSlot - blobTrailer - 2; i < len(whole); i++ {
		at = append(at, i)
	}
	for _, i := range at {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		checkDamaged(t, s, path, blob.Hash, bad, want)
	}
	for _, cut := range []int{0, 10, blobFrame, len(whole) - 1} {
		checkDamaged(t, s, path, blob.Hash, whole[:cut], want)
	}
	checkDamaged(t, s, path, blob.Hash, append(bytes.Clone(whole), 0), want)
	if _, err := s.PutBlob(bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	r, _, err := s.OpenBlob(blob.Hash)
	if err != nil {
		t.Fatalf("putting the content again did not heal it: %v", err)
	}
	r.Close()
}

func checkDamaged(t *testing.T, s *Store, path, hash string, bad, want []byte) {
	t.Helper()
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	r, _, err := s.OpenBlob(hash)
	var got []byte
	if err == nil {
		defer r.Close()
		got, err = io.ReadAll(r)
	}
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.What != "blob "+hash {
		t.Errorf("damaged blob: %d bytes read, error %v", len(got), err)
	}
	if !bytes.HasPrefix(want, got) {
		t.Error("damaged bytes were served")
	}
}

func TestBlobNames(t *testing.T) {
	s := open(t, options(t.TempDir()))
	for _, name := range []string{"", "x", "../../../../etc/passwd", "..", string(bytes.Repeat([]byte("A"), 64)), string(bytes.Repeat([]byte("a"), 64)), string(bytes.Repeat([]byte("a"), 66))} {
		if _, _, err := s.OpenBlob(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open %.20q: %v, want not found", name, err)
		}
		if s.HasBlob(name) {
			t.Errorf("has %.20q", name)
		}
	}
}

func TestBlobFailedReaderLeavesNothing(t *testing.T) {
	opt := options(t.TempDir())
	s := open(t, opt)
	bad := io.MultiReader(bytes.NewReader(content(blobFrame+9, true)), iotest.ErrReader(errors.New("gone")))
	if _, err := s.PutBlob(bad); err == nil {
		t.Error("put from a failing reader succeeded")
	}
	if left := files(t, opt.BlobDir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	_ = s.Close()
	if err := os.WriteFile(filepath.Join(opt.BlobDir, "tmp", "blob-1"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, opt)
	if left := files(t, opt.BlobDir); len(left) > 0 {
		t.Errorf("left over from a crash: %v", left)
	}
}
