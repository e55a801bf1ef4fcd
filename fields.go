package randflake

import (
	"fmt"
	"time"
	"unsafe"
)

// Fields are what an ID holds.
type Fields struct {
	Time     time.Time // a whole second, in UTC
	Node     uint32    // 0 to MaxNode
	Sequence uint32    // 0 to MaxSequence
}

// Seal returns the ID with the given fields; the time is rounded down to a whole second. A field
// that the layout can't hold is an error that wraps ErrInvalidID, and also ErrEndOfLife when the
// time lies after MaxTimestamp.
//
// Seal knows nothing of leases: to make unique IDs use a Generator.
func (c *Cipher) Seal(f Fields) (ID, error) {
	second := f.Time.Unix()
	switch {
	case second < Epoch:
		return 0, fmt.Errorf("%w: time %s is before the epoch, %s", ErrInvalidID, f.Time.Format(time.RFC3339), time.Unix(Epoch, 0).UTC().Format(time.RFC3339))
	case second > MaxTimestamp:
		return 0, fmt.Errorf("%w: time %s: %w", ErrInvalidID, f.Time.Format(time.RFC3339), ErrEndOfLife)
	case f.Node > MaxNode:
		return 0, fmt.Errorf("%w: node %d is above %d", ErrInvalidID, f.Node, MaxNode)
	case f.Sequence > MaxSequence:
		return 0, fmt.Errorf("%w: sequence %d is above %d", ErrInvalidID, f.Sequence, MaxSequence)
	}
	return ID(c.Encrypt(pack(second, f.Node, f.Sequence))), nil
}

// Inspect opens an ID.
//
// An ID is not authenticated: every 64-bit value opens to fields that the layout can hold, so the
// error is nil for all of them in this version of the format. Whether the fields are plausible,
// such as a time that is not in the future, is for the caller to judge.
func (c *Cipher) Inspect(id ID) (Fields, error) {
	return unpack(c.Decrypt(uint64(id))), nil
}

// InspectSlice opens each ID of src into dst, as Inspect does, and much faster. It panics when dst
// is shorter than src.
func (c *Cipher) InspectSlice(dst []Fields, src []ID) error {
	if len(dst) < len(src) {
		panic("randflake: output smaller than input")
	}
	var raw [256]uint64
	for len(src) > 0 {
		n := min(len(src), len(raw))
		decryptBlocks(c.keys, raw[:n], asUint64(src[:n]))
		for i, v := range raw[:n] {
			dst[i] = unpack(v)
		}
		dst, src = dst[n:], src[n:]
	}
	return nil
}

// asUint64 returns ids as the unsigned integers that the kernels work on. An ID is an int64, which
// has the size and alignment of a uint64.
func asUint64(ids []ID) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(ids))), len(ids))
}
