package randflake_test

import "github.com/randflake/randflake/compat"

// That this file compiles is the test: the names, and with them the types, are those of
// gosuda.org/randflake v1.8.
var (
	_ func(nodeID, leaseStart, leaseEnd int64, secret []byte) (*randflake.Generator, error) = randflake.NewGenerator

	_ func(*randflake.Generator) (int64, error)                                              = (*randflake.Generator).Generate
	_ func(*randflake.Generator) (string, error)                                             = (*randflake.Generator).GenerateString
	_ func(g *randflake.Generator, id int64) (timestamp, nodeID, sequence int64, err error)  = (*randflake.Generator).Inspect
	_ func(g *randflake.Generator, id string) (timestamp, nodeID, sequence int64, err error) = (*randflake.Generator).InspectString
	_ func(g *randflake.Generator, leaseStart, leaseEnd int64) bool                          = (*randflake.Generator).UpdateLease
	_ func(*randflake.Generator) randflake.LeaseInfo                                         = (*randflake.Generator).GetLeaseInfo
	_ *func() int64                                                                          = &new(randflake.Generator).TimeSource
	_                                                                                        = struct{ NodeID, LeaseStart, LeaseEnd int64 }(randflake.LeaseInfo{})

	_ func(int64) string          = randflake.EncodeString
	_ func(string) (int64, error) = randflake.DecodeString

	_ = [...]*error{
		&randflake.ErrRandflakeDead,
		&randflake.ErrInvalidSecret,
		&randflake.ErrInvalidLease,
		&randflake.ErrInvalidNode,
		&randflake.ErrResourceExhausted,
		&randflake.ErrConsistencyViolation,
		&randflake.ErrInvalidID,
	}
)

// The constants are untyped: each can be an int64 and a float64.
const (
	_ int64 = randflake.RANDFLAKE_EPOCH_OFFSET + randflake.RANDFLAKE_MAX_TIMESTAMP +
		randflake.RANDFLAKE_TIMESTAMP_BITS + randflake.RANDFLAKE_NODE_BITS + randflake.RANDFLAKE_SEQUENCE_BITS +
		randflake.RANDFLAKE_MAX_NODE + randflake.RANDFLAKE_MAX_SEQUENCE
	_ float64 = randflake.RANDFLAKE_EPOCH_OFFSET + randflake.RANDFLAKE_MAX_TIMESTAMP +
		randflake.RANDFLAKE_TIMESTAMP_BITS + randflake.RANDFLAKE_NODE_BITS + randflake.RANDFLAKE_SEQUENCE_BITS +
		randflake.RANDFLAKE_MAX_NODE + randflake.RANDFLAKE_MAX_SEQUENCE
)
