package randflake_test

import "github.com/randflake/randflake/compat/v2"

// That this file compiles is the test: the names, and with them the types, are those of
// gosuda.org/randflake/v2 v2.1.0.
var (
	_ func(randflake.Config) (*randflake.Generator, error)                       = randflake.New
	_ func(*randflake.Generator) (int64, error)                                  = (*randflake.Generator).Generate
	_ func(*randflake.Generator) (string, error)                                 = (*randflake.Generator).GenerateString
	_ func(*randflake.Generator, randflake.Lease) error                          = (*randflake.Generator).ExtendLease
	_ func(*randflake.Generator) randflake.Lease                                 = (*randflake.Generator).Lease
	_ func(g *randflake.Generator, id int64) randflake.Parts                     = (*randflake.Generator).Inspect
	_ func(g *randflake.Generator, id string) (parts randflake.Parts, err error) = (*randflake.Generator).InspectString

	_ func(int64) string          = randflake.EncodeString
	_ func(string) (int64, error) = randflake.DecodeString

	_ func() (randflake.UnixSeconds, error) = randflake.Clock(nil)

	_ = struct {
		Lease  randflake.Lease
		Secret []byte
		Clock  randflake.Clock
	}(randflake.Config{})
	_ = struct {
		NodeID              uint32
		Start, EndExclusive randflake.UnixSeconds
	}(randflake.Lease{})
	_ = struct {
		Timestamp        randflake.UnixSeconds
		NodeID, Sequence uint32
	}(randflake.Parts{})

	// The constants are typed.
	epoch, maximum = randflake.Epoch, randflake.MaxTimestamp
	nodes, last    = randflake.MaxNodeID, randflake.MaxSequence
	_              = []*randflake.UnixSeconds{&epoch, &maximum}
	_              = []*uint32{&nodes, &last}

	_ = [...]*error{
		&randflake.ErrInvalidSecret,
		&randflake.ErrInvalidLease,
		&randflake.ErrInvalidNode,
		&randflake.ErrResourceExhausted,
		&randflake.ErrConsistencyViolation,
		&randflake.ErrInvalidID,
	}
)

// UnixSeconds is a type of its own, over int64.
const _ = int64(randflake.UnixSeconds(1) << 62)
