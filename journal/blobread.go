package journal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/zeebo/blake3"
)

// BlobReader reads one blob. ReadAt may be called from several goroutines;
// Read and Seek share a position. Every frame is checked before a byte of it is
// served; a damaged one is a *DamagedError that names the blob.
type BlobReader struct {
	blobs *blobStore
	hash  string
	f     *os.File
	size  int64
	slots []byte
	ends  []int64 // where each frame ends on disk

	mu    sync.Mutex
	frame int    // the frame in data
	data  []byte // nil: none
	at    int64
}

// OpenBlob opens the content of that hash and tells its length. Content that
// the store does not hold is fs.ErrNotExist.
func (s *Store) OpenBlob(hash string) (*BlobReader, int64, error) {
	r, err := s.blobs.open(hash)
	if err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", err)
	}
	return r, r.size, nil
}

// HasBlob reports whether the store holds the content, undamaged or not.
func (s *Store) HasBlob(hash string) bool {
	if !validHash(hash) {
		return false
	}
	_, err := os.Stat(s.blobs.path(hash))
	return err == nil
}

// validHash accepts the 64 lower case hex digits of a name and nothing that
// could lead out of the directory.
func validHash(hash string) bool {
	b, err := hex.DecodeString(hash)
	return err == nil && len(b) == 32 && hash == hex.EncodeToString(b)
}

func (b *blobStore) open(hash string) (*BlobReader, error) {
	if !validHash(hash) {
		return nil, fmt.Errorf("%.80q is no blob hash: %w", hash, os.ErrNotExist)
	}
	f, err := os.Open(b.path(hash))
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("blob %s: %w", hash, os.ErrNotExist)
		}
		return nil, err
	}
	r := &BlobReader{blobs: b, hash: hash, f: f}
	if err := r.readIndex(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return r, nil
}

func (r *BlobReader) damage(at int64, reason string) error {
	return &DamagedError{What: "blob " + r.hash, Offset: at, Reason: reason}
}

func (r *BlobReader) readIndex() error {
	info, err := r.f.Stat()
	if err != nil {
		return err
	}
	total := info.Size()
	var end [blobTrailer]byte
	if total < blobTrailer {
		return r.damage(total, "the file ends early")
	}
	if _, err := r.f.ReadAt(end[:], total-blobTrailer); err != nil {
		return err
	}
	frames := int64(binary.LittleEndian.Uint32(end[8:]))
	start := total - blobTrailer - frames*blobSlot
	if binary.LittleEndian.Uint32(end[16:]) != blobMagic || start < 0 {
		return r.damage(total-blobTrailer, "the trailer is not one")
	}
	index := make([]byte, frames*blobSlot+12)
	if _, err := r.f.ReadAt(index, start); err != nil {
		return err
	}
	if blobCheck(r.hash, index) != binary.LittleEndian.Uint32(end[12:]) {
		return r.damage(start, "the index does not match its checksum")
	}
	r.size = int64(binary.LittleEndian.Uint64(end[:]))
	r.slots = index[:frames*blobSlot]
	at := int64(0)
	for i := range frames {
		at += int64(binary.LittleEndian.Uint32(r.slots[i*blobSlot:]))
		r.ends = append(r.ends, at)
	}
	if at != start || frames != (r.size+blobFrame-1)/blobFrame {
		return r.damage(start, "the index does not fit the file")
	}
	return nil
}

// load unpacks frame i into r.data.
func (r *BlobReader) loadLocked(i int) error {
	if r.data != nil && r.frame == i {
		return nil
	}
	dec, err := r.blobs.unpack()
	if err != nil {
		return err
	}
	from := int64(0)
	if i > 0 {
		from = r.ends[i-1]
	}
	packed := make([]byte, r.ends[i]-from)
	if _, err := r.f.ReadAt(packed, from); err != nil {
		return fmt.Errorf("read blob %s: %w", r.hash, err)
	}
	sum := blake3.Sum256(packed)
	if string(sum[:blobSum]) != string(r.slots[i*blobSlot+4:(i+1)*blobSlot]) {
		return r.damage(from, "the bytes do not match their checksum")
	}
	data, err := dec.DecodeAll(packed, r.data[:0])
	if err != nil {
		r.data = nil
		return r.damage(from, err.Error())
	}
	if int64(len(data)) != min(blobFrame, r.size-int64(i)*blobFrame) {
		r.data = nil
		return r.damage(from, "a frame has the wrong length")
	}
	r.frame, r.data = i, data
	return nil
}

// ReadAt reads a range; it unpacks the frames that the range touches.
func (r *BlobReader) ReadAt(p []byte, off int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readAtLocked(p, off)
}

func (r *BlobReader) readAtLocked(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read blob: negative offset")
	}
	for n < len(p) {
		if off >= r.size {
			return n, io.EOF
		}
		if err := r.loadLocked(int(off / blobFrame)); err != nil {
			return n, err
		}
		c := copy(p[n:], r.data[off%blobFrame:])
		n += c
		off += int64(c)
	}
	return n, nil
}

// Read reads on from the position, at most to the end of a frame.
func (r *BlobReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at >= r.size {
		return 0, io.EOF
	}
	n, err := r.readAtLocked(p[:min(int64(len(p)), blobFrame-r.at%blobFrame, r.size-r.at)], r.at)
	r.at += int64(n)
	return n, err
}

// Seek moves the position.
func (r *BlobReader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return r.at, errors.New("seek blob: negative position")
	}
	r.at = offset
	return offset, nil
}

// Close lets go of the file.
func (r *BlobReader) Close() error { return r.f.Close() }
