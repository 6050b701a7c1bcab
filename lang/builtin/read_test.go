package builtin

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

// measured is a reader that tells a size, which may be wrong by the time it is
// read.
type measured struct {
	io.Reader
	size int64
}

func (m measured) Size() int64 { return m.size }

// TestReadingWhatTellsItsSize reads files that have the size they tell, that
// have grown, have shrunk, or come in small parts.
func TestReadingWhatTellsItsSize(t *testing.T) {
	const n = readPieceMax + 1000
	want := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
	for name, r := range map[string]measured{
		"right":  {bytes.NewReader(want), n},
		"grown":  {bytes.NewReader(want), n / 3},
		"shrunk": {bytes.NewReader(want), 2 * n},
		"none":   {bytes.NewReader(want), 0},
		"parts":  {iotest.HalfReader(bytes.NewReader(want)), n},
	} {
		got, err := readAll(r, goOn)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes and %v, want the %d that there are", name, len(got), err, n)
		}
	}
	if b, err := readUpTo(measured{bytes.NewReader(want), n}, n-1, goOn); err == nil || b != nil {
		t.Errorf("got %d bytes, want an error above the limit", len(b))
	}
	if b, err := readUpTo(measured{bytes.NewReader(want), n - 1}, n-1, goOn); err == nil || b != nil {
		t.Errorf("got %d bytes of a file that grew above the limit, want an error", len(b))
	}
	if got := testing.AllocsPerRun(5, func() { readAll(measured{bytes.NewReader(want), n}, goOn) }); got > 4 {
		t.Errorf("reading a file of known size takes %v objects, want no pieces", got)
	}
}
