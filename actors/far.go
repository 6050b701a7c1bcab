package actors

import (
	"encoding/json"
	"fmt"
	"io"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
)

// farRow is from how many bytes on what belongs into a row lies in the content
// store instead. Records are written one after another, and every session waits
// for those before its own.
const farRow = 4 << 20

// putFar keeps data in the content store and gives its hash. An error of stop,
// which may be nil, ends that.
func (d *Deps) putFar(data []byte, stop func() error) (hash string, err error) {
	blob, err := d.Journal.PutBlob(stopped(io.NewSectionReader(value.BytesBlob(data), 0, int64(len(data))), stop))
	return blob.Hash, err
}

// getFar is what putFar has kept.
func (d *Deps) getFar(hash string) ([]byte, error) {
	c, err := d.Journal.OpenBlob(hash)
	if err != nil {
		return nil, err
	}
	data := make([]byte, c.Len())
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Len()), data); err != nil {
		return nil, fmt.Errorf("read content %s: %w", hash, err)
	}
	return data, nil
}

// stopped is r until stop, which may be nil, gives an error.
func stopped(r io.Reader, stop func() error) io.Reader {
	if stop == nil {
		return r
	}
	return stopReader{r, stop}
}

type stopReader struct {
	r    io.Reader
	stop func() error
}

func (s stopReader) Read(p []byte) (int, error) {
	if err := s.stop(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// bindingRow is a binding as the journal keeps it.
type bindingRow struct {
	interp.Stored
	// Far is the hash of the content that is Data, FarAll of the one that is all
	// of it; "" where it is here.
	Far    string `json:"far,omitempty"`
	FarAll string `json:"far_all,omitempty"`
}

// encodeBinding is the row's value for a binding.
func (d *Deps) encodeBinding(b interp.Stored, stop func() error) (json.RawMessage, error) {
	out := bindingRow{Stored: b}
	var err error
	if len(b.Data) > farRow {
		if out.Far, err = d.putFar(b.Data, stop); err != nil {
			return nil, err
		}
		out.Data = nil
	}
	row := messages.JSON(out)
	if len(row) <= farRow {
		return row, nil
	}
	hash, err := d.putFar(row, stop)
	return messages.JSON(bindingRow{FarAll: hash}), err
}

// decodeBinding is the binding of a row's value.
func (d *Deps) decodeBinding(row []byte) (interp.Stored, error) {
	var b bindingRow
	if err := json.Unmarshal(row, &b); err != nil {
		return b.Stored, err
	}
	if b.FarAll != "" {
		all, err := d.getFar(b.FarAll)
		if err != nil {
			return b.Stored, err
		}
		b = bindingRow{}
		if err := json.Unmarshal(all, &b); err != nil {
			return b.Stored, err
		}
	}
	var err error
	if b.Far != "" {
		b.Data, err = d.getFar(b.Far)
	}
	return b.Stored, err
}
