package randflake

import "time"

// The layout of a raw value, from the highest bit to the lowest:
//
//	timestamp (30 bits) | node (17 bits) | sequence (17 bits)
const (
	// Epoch is the Unix second that a timestamp of zero stands for: 2024-10-27 03:33:20 UTC.
	Epoch int64 = 1730000000

	TimestampBits = 30 // bits that count seconds since Epoch
	NodeBits      = 17 // bits that name the node
	SequenceBits  = 17 // bits that number the IDs of one node in one second

	// MaxTimestamp is the last Unix second that an ID can carry: 2058-11-05 17:10:23 UTC.
	MaxTimestamp int64 = Epoch + 1<<TimestampBits - 1

	MaxNode     = 1<<NodeBits - 1     // the highest node
	MaxSequence = 1<<SequenceBits - 1 // the highest sequence number
)

const (
	nodeShift      = SequenceBits
	timestampShift = SequenceBits + NodeBits
)

// pack makes the raw value of one (second, node, sequence). The second is a Unix second that
// the layout can hold, as are the other two.
func pack(second int64, node, sequence uint32) uint64 {
	return uint64(second-Epoch)<<timestampShift | uint64(node)<<nodeShift | uint64(sequence)
}

// secondOf returns the Unix second within a raw value.
func secondOf(raw uint64) int64 { return int64(raw>>timestampShift) + Epoch }

// unpack is the inverse of pack.
func unpack(raw uint64) Fields {
	return Fields{
		Time:     time.Unix(secondOf(raw), 0).UTC(),
		Node:     uint32(raw>>nodeShift) & MaxNode,
		Sequence: uint32(raw) & MaxSequence,
	}
}
