package journal

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/blake3"

	"shoal.dev/shoal/messages"
)

// A blob file is independent zstd frames of blobFrame bytes of content each
// (the last may be shorter), then an index: for every frame the length on disk
// and the first bytes of the BLAKE3 of what is on disk; then a trailer: content
// length, number of frames, CRC-32C of name, index and the fields before it,
// and a magic word. A range is read by unpacking only the frames it touches.
const (
	blobFrame   = 256 << 10
	blobSum     = 12
	blobSlot    = 4 + blobSum
	blobTrailer = 8 + 4 + 4 + 4
	blobMagic   = 0x53484231 // "SHB1"
)

// blobStore is the content store. Files are named by the BLAKE3 of their
// content, in 256 directories; they appear whole or not at all and never
// change.
type blobStore struct {
	dir     string
	written atomic.Int64
	pack    func() (*zstd.Encoder, error)
	unpack  func() (*zstd.Decoder, error)
	buffers sync.Pool
}

// openBlobs removes what a crash left half written.
func openBlobs(dir string) (*blobStore, error) {
	tmp := filepath.Join(dir, "tmp")
	if err := os.RemoveAll(tmp); err != nil {
		return nil, err
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return nil, err
	}
	b := &blobStore{dir: dir}
	b.buffers.New = func() any { return new([blobFrame]byte) }
	b.pack = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(blobFrame), zstd.WithEncoderCRC(false))
	})
	b.unpack = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(2*blobFrame))
	})
	return b, nil
}

func (b *blobStore) path(hash string) string { return filepath.Join(b.dir, hash[:2], hash[2:]) }

// PutBlob keeps what r yields until its end, in constant memory, and returns
// when it would survive a power cut. Content that is there already is kept
// once.
func (s *Store) PutBlob(r io.Reader) (messages.Blob, error) {
	blob, err := s.blobs.put(r)
	if err != nil {
		return messages.Blob{}, fmt.Errorf("put blob: %w", err)
	}
	return blob, nil
}

func (b *blobStore) put(r io.Reader) (messages.Blob, error) {
	buf := b.buffers.Get().(*[blobFrame]byte)
	defer b.buffers.Put(buf)
	n, err := io.ReadFull(r, buf[:])
	last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !last {
		return messages.Blob{}, err
	}
	if last { // small content is known before anything is written
		sum := blake3.Sum256(buf[:n])
		if hash := hex.EncodeToString(sum[:]); b.intact(hash) {
			return messages.Blob{Hash: hash, Len: int64(n)}, nil
		}
	}
	f, err := os.CreateTemp(filepath.Join(b.dir, "tmp"), "blob-")
	if err != nil {
		return messages.Blob{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	blob, err := b.fill(f, r, buf, n, last)
	if err != nil {
		return messages.Blob{}, err
	}
	return blob, b.publish(f, blob.Hash)
}

// fill writes the frames, of which the first is in buf, the index and the
// trailer.
func (b *blobStore) fill(f *os.File, r io.Reader, buf *[blobFrame]byte, n int, last bool) (messages.Blob, error) {
	enc, err := b.pack()
	if err != nil {
		return messages.Blob{}, err
	}
	h := blake3.New()
	var index, packed []byte
	var size int64
	for n > 0 {
		h.Write(buf[:n])
		size += int64(n)
		packed = enc.EncodeAll(buf[:n], packed[:0])
		if _, err := f.Write(packed); err != nil {
			return messages.Blob{}, err
		}
		sum := blake3.Sum256(packed)
		index = binary.LittleEndian.AppendUint32(index, uint32(len(packed)))
		index = append(index, sum[:blobSum]...)
		if last {
			break
		}
		n, err = io.ReadFull(r, buf[:])
		last = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return messages.Blob{}, err
		}
	}
	hash := hex.EncodeToString(h.Sum(nil))
	end := binary.LittleEndian.AppendUint64(index, uint64(size))
	end = binary.LittleEndian.AppendUint32(end, uint32(len(index)/blobSlot))
	end = binary.LittleEndian.AppendUint32(end, blobCheck(hash, end))
	end = binary.LittleEndian.AppendUint32(end, blobMagic)
	_, err = f.Write(end)
	return messages.Blob{Hash: hash, Len: size}, err
}

func blobCheck(hash string, index []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(hash), castagnoli), castagnoli, index)
}

// publish gives the finished file its name. It replaces one of the same name,
// whose content is the same unless it is damaged.
func (b *blobStore) publish(f *os.File, hash string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	to := b.path(hash)
	shard := filepath.Dir(to)
	if err := os.Mkdir(shard, 0o700); err == nil {
		if err := syncDir(b.dir); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Rename(f.Name(), to); err != nil {
		return err
	}
	b.written.Add(1)
	return syncDir(shard)
}

// intact reports whether the content of one frame is there and undamaged.
func (b *blobStore) intact(hash string) bool {
	r, err := b.open(hash)
	if err != nil {
		return false
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, r)
	return err == nil
}
