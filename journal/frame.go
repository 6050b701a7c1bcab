package journal

import (
	"encoding/binary"
	"hash/crc32"
)

// A tail file is a sequence of frames: length, CRC-32C and number, then the
// payload. Numbers rise by one over the life of the store, so that replay can
// tell what is already folded, what is stale and what is missing.
const (
	frameHeader = 16
	frameMax    = 256 << 20 // bytes of one payload
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginFrame leaves room for a header and returns where it stands.
func beginFrame(buf []byte) ([]byte, int) {
	at := len(buf)
	return append(buf, make([]byte, frameHeader)...), at
}

// endFrame fills in the header of the frame that begins at at.
func endFrame(buf []byte, at int, lsn uint64) {
	head := buf[at : at+frameHeader]
	binary.LittleEndian.PutUint32(head, uint32(len(buf)-at-frameHeader))
	binary.LittleEndian.PutUint64(head[8:], lsn)
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(buf[at+8:], castagnoli))
}

// readFrame takes the frame at the start of data; size is 0 when there is no
// whole and undamaged one.
func readFrame(data []byte) (lsn uint64, payload []byte, size int) {
	if len(data) < frameHeader {
		return 0, nil, 0
	}
	n := binary.LittleEndian.Uint32(data)
	if n == 0 || n > frameMax || uint64(n) > uint64(len(data)-frameHeader) {
		return 0, nil, 0
	}
	size = frameHeader + int(n)
	if crc32.Checksum(data[8:size], castagnoli) != binary.LittleEndian.Uint32(data[4:]) {
		return 0, nil, 0
	}
	return binary.LittleEndian.Uint64(data[8:]), data[frameHeader:size], size
}
