package randflake

import (
	"fmt"
	"time"
)

// Fields are what an ID holds.
type Fields struct {
	Time     time.Time // a whole second, in UTC
	Node     uint32    // 0 to MaxNode
	Sequence uint32    // 0 to MaxSequence
}

// Compose returns the ID with the given fields; the time is rounded down to a whole second. A field
// that the layout can't hold is an error that wraps ErrInvalidID, and also ErrEndOfLife when the
// time lies after MaxTimestamp.
//
// Compose knows nothing of leases: to make unique IDs use a Generator.
func (c *Cipher) Compose(f Fields) (ID, error) {
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
	return c.Encrypt(Raw(pack(second, f.Node, f.Sequence))), nil
}

// Within returns nil when an ID with these fields could have been made under the lease: when its second, or a part of
// it, lies in [Start, End), and its node in [FirstNode, LastNode]. Otherwise it returns an error that wraps
// ErrImplausible, and says which field is out and what was expected.
//
// An ID is not authenticated, so that one that nobody made opens too: in a lease of an hour on one node it is plausible
// once in 39 billion tries. A window of time over all nodes is a lease as well:
//
//	err := cipher.Inspect(id).Within(randflake.Lease{LastNode: randflake.MaxNode, Start: launch, End: time.Now()})
func (f Fields) Within(l Lease) error {
	second := time.Unix(f.Time.Unix(), 0).UTC()
	switch {
	case second.Unix() < l.Start.Unix():
		return fmt.Errorf("%w: time %s is before %s", ErrImplausible, second.Format(time.RFC3339), l.Start.UTC().Format(time.RFC3339))
	case !second.Before(l.End):
		return fmt.Errorf("%w: time %s is not before %s", ErrImplausible, second.Format(time.RFC3339), l.End.UTC().Format(time.RFC3339))
	case f.Node < l.FirstNode || f.Node > l.LastNode:
		return fmt.Errorf("%w: node %d is not one of %d to %d", ErrImplausible, f.Node, l.FirstNode, l.LastNode)
	}
	return nil
}

// Inspect opens an ID. Every 64-bit value opens to fields that the layout can hold, whoever made it up: Within tells
// whether they are plausible.
func (c *Cipher) Inspect(id ID) Fields { return c.Decrypt(id).Fields() }

// InspectSlice opens each ID of src into dst, as Inspect does, and much faster. It panics when dst
// is shorter than src.
func (c *Cipher) InspectSlice(dst []Fields, src []ID) {
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
}
