package builtin

import "io"

// sized is a reader that knows how much it holds, unless that changes.
type sized interface{ Size() int64 }

// readSized reads into a buffer of the size that r tells, so that nothing has
// to be moved. It reads in pieces, and an error of check between them ends it.
// rest is true when there is more than r told.
func readSized(r io.Reader, most int, check func() error) (b []byte, rest bool, err error) {
	s, ok := r.(sized)
	if !ok || s.Size() <= 0 || s.Size() > int64(most) {
		return nil, true, nil
	}
	b = make([]byte, s.Size()+1) // the byte more finds the end
	for n := 0; ; {
		if err := check(); err != nil {
			return nil, false, err
		}
		more, err := r.Read(b[n:min(len(b), n+readPieceMax)])
		n += more
		switch {
		case err == io.EOF:
			return b[:n], false, nil
		case err != nil:
			return b[:n], false, err
		case n == len(b):
			return b, true, nil
		}
	}
}
