package builtin

import (
	"testing"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// storedBlob is content that a store holds; reading it is counted.
type storedBlob struct {
	value.Blob
	reads *int
}

func (storedBlob) Ref() string { return "val:blake3:00" }

func (b storedBlob) ReadAt(p []byte, off int64) (int, error) {
	*b.reads++
	return b.Blob.ReadAt(p, off)
}

func TestBytesOfTheStore(t *testing.T) {
	reads := 0
	stored := value.NewBlob(storedBlob{value.BytesBlob([]byte("abc")), &reads})
	lib := Library()
	call := func(v value.Value, name string) (value.Value, error) {
		return lib.Method(value.KindBytes, name).Run(&interp.Call{M: &interp.Machine{}, Recv: v, Name: name})
	}
	for _, name := range []string{"ref", "len", "is_empty"} {
		if _, err := call(stored, name); err != nil || reads != 0 {
			t.Errorf("%s: got %v after %d reads, want none of either", name, err, reads)
		}
	}
	for _, name := range []string{"load", "bytes"} {
		v, err := call(stored, name)
		if err != nil || v.AsBytes().Ref() != "" || v.AsBytes().Len() != 3 {
			t.Errorf("%s: got %s %v, want the three bytes in memory", name, value.Inline(v), err)
		}
	}
	for _, name := range []string{"ref", "load", "bytes"} {
		if v, err := call(value.NewBytes([]byte("abc")), name); err == nil {
			t.Errorf("%s of bytes in memory: got %s, want type_error", name, value.Inline(v))
		}
	}
}
