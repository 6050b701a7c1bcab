package builtin

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

func TestReadAllJoinsItsPieces(t *testing.T) {
	for _, n := range []int{0, 1, readPieceMin - 1, readPieceMin, readPieceMin + 1, 3 * readPieceMin, 5*readPieceMax + 7} {
		want := bytes.Repeat([]byte("0123456789abcde"), n/15+1)[:n]
		for how, r := range map[string]io.Reader{
			"whole":         bytes.NewReader(want),
			"in halves":     iotest.HalfReader(bytes.NewReader(want)),
			"with its end":  iotest.DataErrReader(bytes.NewReader(want)),
			"after nothing": io.MultiReader(iotest.ErrReader(io.EOF), bytes.NewReader(want)),
		} {
			if got, err := readAll(r); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes %s: got %d bytes, %v", n, how, len(got), err)
			}
		}
	}
}

func TestReadAllGivesTheErrorOfItsReader(t *testing.T) {
	broken := errors.New("broken")
	_, err := readAll(io.MultiReader(bytes.NewReader(make([]byte, 10000)), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// endless is a source of zeros.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return len(b), nil
}

func TestReadingEndsAtTheLargestText(t *testing.T) {
	const most = 5*readPieceMax + 3
	source := &endless{}
	if b, err := readUpTo(source, most); err == nil || b != nil {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if source.read > most+readPieceMax {
		t.Errorf("read %d bytes for %d", source.read, most)
	}
	if b, err := readUpTo(io.LimitReader(source, most), most); err != nil || len(b) != most {
		t.Errorf("exactly %d: got %d bytes, %v", most, len(b), err)
	}
}
