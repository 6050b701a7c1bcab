package value

import (
	"hash/maphash"
	"math"
)

const (
	// hashDepth is from where on nested values no longer count for the hash.
	hashDepth = 4
	// hashItems is how many elements of a nested sequence count, and up to how
	// many fields of a nested record.
	hashItems = 32
)

// Hasher gives hashes that agree with Same: what is equal has one hash. The
// zero Hasher is not ready; a Hasher is safe for concurrent use.
type Hasher struct{ seed maphash.Seed }

// NewHasher makes a Hasher with a seed of its own.
func NewHasher() *Hasher { return &Hasher{maphash.MakeSeed()} }

// Hash is the hash of v.
func (h *Hasher) Hash(v Value) uint64 { return h.hash(v, 0) }

func mix(a, b uint64) uint64 {
	a = (a ^ b) * 0x9E3779B97F4A7C15
	return a ^ a>>29
}

func (h *Hasher) hash(v Value, depth int) uint64 {
	switch v.Kind() {
	case KindInt:
		return mix(uint64(KindInt), uint64(v.n))
	case KindFloat:
		f := v.AsFloat()
		if f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) {
			return mix(uint64(KindInt), uint64(int64(f)))
		}
		return mix(uint64(KindFloat), uint64(v.n))
	case KindNull, KindBool, KindSize, KindDuration, KindTime:
		return mix(uint64(v.Kind()), uint64(v.n))
	case KindStr, KindPath:
		return maphash.String(h.seed, v.AsStr())
	case KindDatetime:
		t := v.AsDatetime()
		return mix(uint64(t.Unix()), uint64(t.Nanosecond())+uint64(KindDatetime))
	case KindBytes:
		return h.hashBytes(v.AsBytes())
	case KindList, KindTable, KindRecord:
		if depth >= hashDepth {
			return uint64(KindList)
		}
		return h.hashParts(v, depth)
	case KindGlob:
		return maphash.String(h.seed, v.AsGlob().Pattern) + uint64(KindGlob)
	case KindRegex:
		return maphash.String(h.seed, v.AsRegex().Src) + uint64(KindRegex)
	case KindRange:
		r := v.AsRange()
		return mix(mix(uint64(KindRange), uint64(r.Start)), uint64(r.End))
	case KindError:
		return maphash.String(h.seed, v.AsError().Msg) + uint64(KindError)
	case KindCommand:
		return maphash.String(h.seed, v.AsCommand().Repr) + uint64(KindCommand)
	case KindSecret:
		return maphash.String(h.seed, v.AsSecret().Name) + uint64(KindSecret)
	}
	return mix(uint64(v.Kind()), uint64(uintptr(v.p)))
}

// hashBytes looks at the length and the first 4 KiB.
func (h *Hasher) hashBytes(b *Bytes) uint64 {
	var buf [4096]byte
	n, _ := b.ReadAt(buf[:min(int64(len(buf)), b.Len())], 0)
	return mix(maphash.Bytes(h.seed, buf[:n]), uint64(b.Len()))
}

// hashParts gives lists and tables one kind of hash, and records one that does
// not depend on the order of keys.
func (h *Hasher) hashParts(v Value, depth int) uint64 {
	if v.Kind() != KindRecord {
		sum := uint64(KindList)
		n := seqLen(v)
		if depth > 0 {
			n = min(n, hashItems)
		}
		for i := range n {
			sum = mix(sum, h.hash(seqAt(v, i), depth+1))
		}
		return sum
	}
	r := v.AsRecord()
	sum := mix(uint64(KindRecord), uint64(len(r.Vals)))
	if depth > 0 && len(r.Vals) > hashItems {
		return sum
	}
	for i, k := range r.Shape.keys {
		sum += mix(maphash.String(h.seed, k), h.hash(r.Vals[i], depth+1))
	}
	return sum
}
