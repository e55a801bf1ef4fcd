package randflake_test

import (
	v1 "github.com/randflake/randflake/compat"
	v2 "github.com/randflake/randflake/compat/v2"
)

// That this file compiles is a test: types are as upstream, beyond what the other tests use. The
// constants of v1.8 are untyped, so that each can be an int64 and a float64; those of v2 are typed.
const (
	untyped = v1.RANDFLAKE_EPOCH_OFFSET + v1.RANDFLAKE_MAX_TIMESTAMP + v1.RANDFLAKE_TIMESTAMP_BITS + v1.RANDFLAKE_NODE_BITS +
		v1.RANDFLAKE_SEQUENCE_BITS + v1.RANDFLAKE_MAX_NODE + v1.RANDFLAKE_MAX_SEQUENCE
	_ int64   = untyped
	_ float64 = untyped
	_         = int64(v2.UnixSeconds(1) << 62)
)

var (
	_, _ = []v2.UnixSeconds{v2.Epoch, v2.MaxTimestamp}, []uint32{v2.MaxNodeID, v2.MaxSequence}

	_ = struct{ NodeID, LeaseStart, LeaseEnd int64 }(v1.LeaseInfo{})
	_ = struct {
		Lease  v2.Lease
		Secret []byte
		Clock  v2.Clock
	}(v2.Config{})
	_ = struct {
		NodeID              uint32
		Start, EndExclusive v2.UnixSeconds
	}(v2.Lease{})
	_ = struct {
		Timestamp        v2.UnixSeconds
		NodeID, Sequence uint32
	}(v2.Parts{})
)
