package actors

import (
	"container/list"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/lang/view"
	"shoal.dev/shoal/messages"
)

// transcript keeps the newest values of a session in memory; older ones are
// read from the journal again.
type transcript struct {
	mu    sync.Mutex
	limit int64
	size  int64
	order *list.List // of *kept, newest first
	byNum map[uint64]*list.Element
}

type kept struct {
	num  uint64
	v    value.Value
	size int64 // in memory, about, in bytes
	only bool  // the journal does not have it
}

func newTranscript(limit int64) *transcript {
	return &transcript{limit: limit, order: list.New(), byNum: map[uint64]*list.Element{}}
}

// put remembers a value. One that would fill the whole budget is left to the
// journal, if that has it.
func (t *transcript) put(k kept) {
	k.size += 64
	if k.size > t.limit/2 {
		if !k.only {
			return
		}
		k.size = 0 // others need not go for what cannot be measured
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.byNum[k.num]; ok {
		t.order.MoveToFront(e)
		return
	}
	t.byNum[k.num] = t.order.PushFront(&k)
	t.size += k.size
	for t.size > t.limit {
		last := t.order.Back()
		k := t.order.Remove(last).(*kept)
		delete(t.byNum, k.num)
		t.size -= k.size
	}
}

// empty forgets everything.
func (t *transcript) empty() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order.Init()
	clear(t.byNum)
	t.size = 0
}

// reliefLeast is how many bytes are worth waiting for.
const reliefLeast = 1 << 20

// relieve forgets what the journal has, and reports whether that was much.
func (t *transcript) relieve() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.size
	for e := t.order.Front(); e != nil; {
		next := e.Next()
		if k := e.Value.(*kept); !k.only {
			t.order.Remove(e)
			delete(t.byNum, k.num)
			t.size -= k.size
		}
		e = next
	}
	return before-t.size > reliefLeast
}

func (t *transcript) get(num uint64) (value.Value, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.byNum[num]
	if !ok {
		return value.Null, false
	}
	t.order.MoveToFront(e)
	return e.Value.(*kept).v, true
}

// The first byte of a row in table out.
const (
	outStored = 0 // the stored value follows
	outLost   = 1 // why the value cannot be kept follows
	outFar    = 2 // the hash of the content that is the stored value follows
)

// keep encodes a value as a row of the transcript and remembers it. What has
// no stored form (a task, a live stream, a secret) stays readable until the
// session leaves memory. An error of stop, which is asked now and then, is why
// the value is not kept.
func (h *sessionHost) keep(num uint64, v value.Value, stop func() error) messages.Row {
	codec := h.codec()
	codec.Stop = stop
	buf, err := value.AppendStored([]byte{outStored}, v, codec)
	if err == nil && len(buf) > farRow {
		var hash string
		hash, err = h.d.putFar(buf[1:], stop)
		buf = append([]byte{outFar}, hash...)
	}
	if err != nil {
		buf = append([]byte{outLost}, err.Error()...)
	}
	h.values.put(kept{num: num, v: v, size: codec.Memory, only: err != nil})
	return messages.Row{Table: tableOut, Key: outKey(h.name, num), Value: buf}
}

// value finds a transcript value.
func (h *sessionHost) value(num uint64) (value.Value, *messages.Error) {
	if v, ok := h.values.get(num); ok {
		return v, nil
	}
	h.mu.Lock()
	next := h.nextOut
	h.mu.Unlock()
	unknown := messages.Errorf(messages.CodeUnknownRef, "there is no value out:%d in session %s; the newest is out:%d", num, h.name, next-1)
	if num == 0 || num >= next {
		return value.Null, unknown
	}
	raw, found, err := h.d.Journal.Get(tableOut, outKey(h.name, num))
	switch {
	case err != nil:
		return value.Null, messages.Errorf(messages.CodeInternal, "read out:%d: %v", num, err)
	case !found || len(raw) == 0:
		return value.Null, unknown
	case raw[0] == outLost:
		return value.Null, messages.Errorf(messages.CodeUnknownRef, "out:%d was not kept: %s", num, raw[1:])
	}
	stored := raw[1:]
	if raw[0] == outFar {
		stored, err = h.d.getFar(string(stored))
	}
	v := value.Null
	if err == nil {
		v, err = value.LoadStored(stored, h.codec())
	}
	if err != nil {
		return value.Null, messages.Errorf(messages.CodeInternal, "read out:%d: %v", num, err)
	}
	h.values.put(kept{num: num, v: v, size: int64(len(stored)) * loadedFactor})
	return v, nil
}

// loadedFactor is about how many times its stored form a value takes in memory.
const loadedFactor = 8

// blob reads content by its val: ref.
func (h *sessionHost) blob(ref string) (value.Value, *messages.Error) {
	b, err := h.d.openBlob(ref)
	if err != nil {
		return value.Null, messages.Errorf(messages.CodeUnknownRef, "there is no content %s: %v", ref, err)
	}
	return value.NewBlob(b), nil
}

// codec stores values with the kernel's content store behind them.
func (h *sessionHost) codec() *value.Codec {
	c := &value.Codec{
		OpenBlob: func(ref string, _ int64) (value.Blob, error) { return h.d.openBlob(ref) },
	}
	c.PutBlob = func(b value.Blob) (string, error) {
		if ref := b.Ref(); ref != "" {
			return ref, nil
		}
		blob, err := h.d.Journal.PutBlob(stopped(io.NewSectionReader(b, 0, b.Len()), c.Stop))
		return blobPrefix + blob.Hash, err
	}
	return c
}

const blobPrefix = "val:blake3:"

// storedBlob is content of the content store as the language sees it.
type storedBlob struct {
	Content
	ref string
}

func (b storedBlob) Ref() string  { return b.ref }
func (b storedBlob) Total() int64 { return b.Len() }

// OpenValue is the content behind a ref such as val:blake3:HEX, for programs.
func (d *Deps) OpenValue(_ context.Context, ref string) (value.Blob, error) {
	b, err := d.openBlob(ref)
	if err != nil {
		return nil, value.Errorf(value.CodeNotFound, "there is no content %s in the journal/CAS: %v", ref, err)
	}
	return b, nil
}

func (d *Deps) openBlob(ref string) (value.Blob, error) {
	hash := strings.TrimPrefix(strings.TrimPrefix(ref, "val:"), "blake3:")
	c, err := d.Journal.OpenBlob(hash)
	if err != nil {
		return nil, err
	}
	return storedBlob{c, blobPrefix + hash}, nil
}

// getValue answers value.get. It blocks and runs in a goroutine of its own.
func (h *sessionHost) getValue(p messages.GetValueParams, tasks *TaskStore) messages.Raw {
	ref, v, err := h.resolve(p.Ref, tasks)
	if err != nil {
		return messages.Raw{Err: err}
	}
	if v, err = h.narrow(v, p); err != nil {
		return messages.Raw{Err: err}
	}
	out, err := show(h.d.viewer(), ref, v, p)
	if err != nil {
		return messages.Raw{Err: err}
	}
	return h.d.shown(messages.JSON(out))
}

// masked is a text with what nobody is to see masked.
func (d *Deps) masked(text string) string {
	b := []byte(text)
	d.Mask(b)
	return string(b)
}

// viewer shows parts of values with what nobody is to see masked.
func (d *Deps) viewer() view.Viewer {
	margin := d.margin()
	if margin == 0 {
		return view.Viewer{}
	}
	return view.Viewer{Mask: d.Mask, Margin: margin}
}

// margin is by how many bytes what is masked may reach into a piece.
func (d *Deps) margin() int {
	if d.Margin == nil {
		return 0
	}
	return d.Margin()
}

// shown is an answer with what nobody is to see masked.
func (d *Deps) shown(answer json.RawMessage) messages.Raw {
	d.Mask(answer)
	return messages.Raw{JSON: answer}
}

// resolve finds the value behind any spelling of a ref.
func (h *sessionHost) resolve(ref string, tasks *TaskStore) (string, value.Value, *messages.Error) {
	ref = fromURI(ref)
	if n, ok := messages.Ref(ref).Out(); ok {
		v, err := h.value(n)
		return ref, v, err
	}
	if id := messages.TaskID(ref); strings.HasPrefix(ref, "task:") {
		result, err := tasks.result(h.name, id)
		if err != nil {
			return ref, value.Null, err
		}
		if n, ok := result.Out(); ok {
			v, err := h.value(n)
			return string(result), v, err
		}
		rec, err := tasks.find(h.name, id)
		if err != nil {
			return ref, value.Null, err
		}
		v, jerr := value.ParseJSON(string(messages.JSON(rec)))
		if jerr != nil {
			return ref, value.Null, messages.Errorf(messages.CodeInternal, "show task %s: %v", id, jerr)
		}
		return ref, v, nil
	}
	if strings.HasPrefix(ref, "val:") {
		v, err := h.blob(ref)
		return ref, v, err
	}
	return ref, value.Null, messages.Errorf(messages.CodeUnknownRef,
		"%q is no ref; refs look like out:17, task:9 or val:blake3:HASH", ref)
}

// fromURI turns a shoal:// URI into the ref it names.
func fromURI(s string) string {
	rest, ok := strings.CutPrefix(s, "shoal://")
	if !ok {
		return s
	}
	kind, id, _ := strings.Cut(rest, "/")
	switch kind {
	case "val":
		return "val:" + "blake3:" + strings.TrimPrefix(id, "blake3:")
	case "task":
		return "task:" + strings.TrimSuffix(id, "/out")
	default:
		return kind + ":" + id
	}
}

// narrow applies path and slice.
func (h *sessionHost) narrow(v value.Value, p messages.GetValueParams) (value.Value, *messages.Error) {
	var err error
	if p.Slice != nil && len(p.Slice) != 2 {
		return value.Null, messages.Errorf(messages.CodeInvalidParams, "slice: expected [start, end], not %d numbers", len(p.Slice))
	}
	if p.Path != "" {
		if v, err = h.d.viewer().At(v, p.Path); err != nil {
			return value.Null, badPath(err)
		}
	}
	if p.Slice == nil || p.Format == "raw" { // raw cuts by itself, without copying
		return v, nil
	}
	if v, err = h.d.viewer().Slice(v, p.Slice[0], p.Slice[1]); err != nil {
		return value.Null, badPath(err)
	}
	return v, nil
}

func badPath(err error) *messages.Error {
	var e *messages.Error
	if errors.As(err, &e) {
		return e
	}
	return messages.Errorf(messages.CodeBadPath, "%s", strings.TrimSpace(fmt.Sprint(err)))
}

// renderWidth is how many columns a rendering may take.
const renderWidth = 80

// show answers with one view of a value.
func show(w view.Viewer, ref string, v value.Value, p messages.GetValueParams) (messages.ValueView, *messages.Error) {
	out := messages.ValueView{Ref: ref}
	place := view.Place{URI: refURI(ref), Path: p.Path}
	switch p.Format {
	case "render":
		text := view.TextWidth(v, textCap(p.Elide), place.String(), renderWidth).Text
		out.Render = &text
	case "raw":
		return showRaw(w, out, v, p)
	default:
		out.Value, _ = w.Wire(v, elideLimits(p.Elide), place)
	}
	return out, nil
}

// showRaw gives the value's own bytes. With a slice the value has been cut
// already, and a piece of it says where the next one starts.
func showRaw(w view.Viewer, out messages.ValueView, v value.Value, p messages.GetValueParams) (messages.ValueView, *messages.Error) {
	var slice *[2]int64
	if p.Slice != nil {
		slice = &[2]int64{p.Slice[0], p.Slice[1]}
	}
	piece, err := w.Raw(v, slice)
	if err != nil {
		var long *view.TooLong
		if errors.As(err, &long) {
			return out, messages.Errorf(messages.CodeBadPath, "%v", long).
				With(map[string]int64{"len": long.Len, "next": long.Next})
		}
		return out, badPath(err)
	}
	if piece.Text {
		text := string(piece.Data)
		out.Raw = &text
	} else {
		text := base64.StdEncoding.EncodeToString(piece.Data)
		out.RawBase64 = &text
	}
	if piece.Next > 0 {
		out.Next = &piece.Next
	}
	return out, nil
}

// refURI is the resource of a ref in any spelling.
func refURI(ref string) string {
	if strings.HasPrefix(ref, "task:") {
		return messages.TaskID(ref).URI() + "/out"
	}
	return messages.Ref(ref).URI()
}
