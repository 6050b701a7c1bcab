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
			if got, err := readAll(r, goOn); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes %s: got %d bytes, %v", n, how, len(got), err)
			}
		}
	}
}

func TestReadAllGivesTheErrorOfItsReader(t *testing.T) {
	broken := errors.New("broken")
	_, err := readAll(io.MultiReader(bytes.NewReader(make([]byte, 10000)), iotest.ErrReader(broken)), goOn)
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
	if b, err := readUpTo(source, most, goOn); err == nil || b != nil {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if source.read > most+readPieceMax {
		t.Errorf("read %d bytes for %d", source.read, most)
	}
	if b, err := readUpTo(io.LimitReader(source, most), most, goOn); err != nil || len(b) != most {
		t.Errorf("exactly %d: got %d bytes, %v", most, len(b), err)
	}
}

func goOn() error { return nil }

func TestReadingEndsWhenItIsTold(t *testing.T) {
	source, stopped := &endless{}, errors.New("stopped")
	_, err := readUpTo(source, maxText, func() error {
		if source.read > readPieceMax {
			return stopped
		}
		return nil
	})
	if err != stopped || source.read > 4*readPieceMax {
		t.Errorf("got %v after %d bytes, want to stop at once", err, source.read)
	}
}
