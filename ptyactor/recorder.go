package ptyactor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/recording"
)

// recordMax bounds one recording, in bytes of its log.
const recordMax = 64 << 20

// Keeper puts recordings into the content store.
type Keeper struct {
	// Dir holds the unlinked files of recordings that are under way.
	Dir string
	// Put stores content and gives its hash; secrets are masked by then.
	Put func(io.Reader) (messages.Blob, error)
	// Mask hides secrets, keeping lengths.
	Mask func(io.Reader) io.Reader
}

// recorder writes what a terminal shows to a file that has no name.
type recorder struct {
	keep  *Keeper
	began time.Time
	input bool

	mu   sync.Mutex
	file *os.File
	log  *recording.Writer
	err  error // of the disk, or errFull: recording has stopped
}

var errFull = fmt.Errorf("the recording has reached its limit of %d bytes", recordMax)

func startRecorder(keep *Keeper, req messages.OpenPTY, term string) (*recorder, error) {
	if keep == nil {
		return nil, errors.New("record: this kernel keeps no recordings")
	}
	file, err := os.CreateTemp(keep.Dir, "record-")
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	os.Remove(file.Name())
	r := &recorder{keep: keep, began: time.Now(), input: req.RecordInput, file: file}
	r.log, err = recording.NewWriter(file, recording.Header{
		Cols: req.Cols, Rows: req.Rows, StartNS: r.began.UnixNano(), Cmd: append([]string{req.Cmd}, req.Args...), Term: term,
	})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

// event appends to the recording, if there is one and it has not stopped.
func (r *recorder) event(kind recording.Kind, data []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.err != nil:
	case r.log.Len()+int64(len(data)) > recordMax:
		r.err = errFull
	default:
		r.err = r.log.Write(recording.Event{At: time.Since(r.began), Kind: kind, Data: data})
	}
}

// size notes a new size.
func (r *recorder) size(cols, rows int) {
	r.event(recording.Resize, fmt.Appendf(nil, "%dx%d", cols, rows))
}

// end notes how the program ended.
func (r *recorder) end(exit *messages.PTYExit) {
	switch {
	case exit.Status != nil:
		r.event(recording.Exit, strconv.AppendInt(nil, int64(*exit.Status), 10))
	case exit.Signal != nil:
		r.event(recording.Exit, []byte(*exit.Signal))
	}
}

// store puts what has been recorded so far into the content store.
func (r *recorder) store() (messages.PTYRecording, error) {
	r.mu.Lock()
	size, truncated := r.log.Len(), r.err != nil
	r.mu.Unlock()
	part := func() io.Reader { return r.keep.Mask(io.NewSectionReader(r.file, 0, size)) }
	log, err := r.keep.Put(part())
	if err != nil {
		return messages.PTYRecording{}, err
	}
	from, err := recording.NewReader(part())
	if err != nil {
		return messages.PTYRecording{}, err
	}
	out, in := io.Pipe()
	go func() { in.CloseWithError(recording.WriteCast(in, from, recording.V2)) }()
	cast, err := r.keep.Put(out)
	out.Close() // ends the writer if the store gave up
	return messages.PTYRecording{
		Ref: blobRef(cast), Log: blobRef(log), Bytes: size, Truncated: truncated,
	}, err
}

func blobRef(b messages.Blob) messages.Ref { return messages.Ref("val:blake3:" + b.Hash) }

// close frees the file.
func (r *recorder) close() {
	if r != nil {
		r.file.Close()
	}
}
