package randflake

import "time"

// The layout of a raw value, from the highest bit to the lowest:
//
//	timestamp (30 bits) | node (17 bits) | sequence (17 bits)
const (
	timestampBits = 30 // seconds since Epoch
	nodeBits      = 17
	sequenceBits  = 17 // numbers the IDs of one node in one second

	nodeShift      = sequenceBits
	timestampShift = sequenceBits + nodeBits
)

const (
	// Epoch is the Unix second that a timestamp of zero stands for: 2024-10-27 03:33:20 UTC.
	Epoch int64 = 1730000000

	// MaxTimestamp is the Unix second of the highest timestamp, the last one that an ID can carry:
	// 2058-11-05 17:10:23 UTC.
	MaxTimestamp int64 = Epoch + 1<<timestampBits - 1

	// MaxNode is the highest node: 131,071.
	MaxNode = 1<<nodeBits - 1

	// MaxSequence is the highest sequence number: 131,071.
	MaxSequence = 1<<sequenceBits - 1
)

// pack returns the raw value of a Unix second, a node and a sequence number. Each must be in its
// range.
func pack(second int64, node, sequence uint32) uint64 {
	return uint64(second-Epoch)<<timestampShift | uint64(node)<<nodeShift | uint64(sequence)
}

// secondOf returns the Unix second in a raw value.
func secondOf(raw uint64) int64 { return int64(raw>>timestampShift) + Epoch }

// Fields are the three numbers that an ID holds.
type Fields struct {
	Time     time.Time // a whole second, in UTC
	Node     uint32    // 0 to MaxNode
	Sequence uint32    // 0 to MaxSequence
}

var epochText = rfc3339(time.Unix(Epoch, 0))

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
