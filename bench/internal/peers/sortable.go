package peers

import (
	crand "crypto/rand"

	"github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake"
)

// sortable returns what people use who want IDs in the order of time.
func sortable() []Peer {
	return []Peer{{
		Name: "UUID v7 google", Package: "github.com/google/uuid, NewV7",
		Kind: Sortable, Bits: 128, Limit: "3.9 · 10^6/s in a process; beyond, its time runs ahead", PerSecond: 1e9 / 256, Unpredictable: "yes, but the time shows",
		Sortable: "yes", Unique: "a clock that only grows within the process, and 62 random bits",
		Featured: true, Open: each(func() (high, low uint64, err error) {
			id, err := uuid.NewV7()
			high, low = ends(id[:])
			return high, low, err
		}),
	}, {
		Name: "UUID v7 gofrs", Package: "github.com/gofrs/uuid/v5, NewV7",
		Kind: Sortable, Bits: 128, Limit: "about 3.1 · 10^6/s in a process; beyond, its time runs ahead", PerSecond: 3072e3, Unpredictable: "yes, but the time shows",
		Sortable: "yes", Unique: "a counter within the millisecond and 62 random bits",
		Open: each(func() (high, low uint64, err error) {
			id, err := gofrs.NewV7()
			high, low = ends(id[:])
			return high, low, err
		}),
	}, {
		Name: "ULID", Package: "github.com/oklog/ulid/v2, Make",
		Kind: Sortable, Bits: 128, Limit: "none", Unpredictable: "no: math/rand, seeded by the time",
		Sortable: "yes", Unique: "it counts up within the process; between processes, 80 bits of that random number",
		Featured: true, Open: each(func() (high, low uint64, err error) {
			id := ulid.Make()
			high, low = ends(id[:])
			return high, low, nil
		}),
	}, {
		Name: "ULID crypto/rand", Package: "github.com/oklog/ulid/v2, New with crypto/rand.Reader",
		Kind: Sortable, Bits: 128, Limit: "none", Unpredictable: "yes, but the time shows",
		Sortable: "by the millisecond", Unique: "80 random bits in each millisecond",
		Open: each(func() (high, low uint64, err error) {
			id, err := ulid.New(ulid.Now(), crand.Reader)
			high, low = ends(id[:])
			return high, low, err
		}),
	}, {
		Name: "KSUID", Package: "github.com/segmentio/ksuid, NewRandom",
		Kind: Sortable, Bits: 160, Limit: "none", Unpredictable: "yes, but the time shows",
		Sortable: "by the second", Unique: "128 random bits in each second",
		Open: each(func() (high, low uint64, err error) {
			id, err := ksuid.NewRandom()
			high, low = ends(id[:])
			return high, low, err
		}),
	}, {
		Name: "xid", Package: "github.com/rs/xid, New",
		Kind: Sortable, Bits: 96, Limit: "16,777,216/s in a process; beyond, it repeats", PerSecond: 1 << 24, Unpredictable: "no",
		Sortable: "by the second", Unique: "a hash of the machine, a process ID, a counter",
		Featured: true, Open: each(func() (high, low uint64, err error) {
			id := xid.New()
			high, low = ends(id[:])
			return high, low, nil
		}),
	}, {
		Name: "Snowflake bwmarrin", Package: "github.com/bwmarrin/snowflake, Node.Generate, one node",
		Kind: Sortable, Bits: 64, Limit: "4,096,000/s for each of 1,024 nodes; beyond, it spins", PerSecond: 4096e3, Unpredictable: "no",
		Sortable: "yes", Unique: "millisecond, node, sequence; nodes are up to you",
		Featured: true, Open: openSnowflake,
	}, {
		Name: "Sonyflake", Package: "github.com/sony/sonyflake, NextID, one machine",
		Kind: Sortable, Bits: 64, Limit: "25,600/s for each of 65,536 machines; beyond, it sleeps", PerSecond: 256e2, Unpredictable: "no",
		Sortable: "yes", Unique: "10 ms, sequence, machine; machines are up to you",
		AtLimit: true, Open: openSonyflake,
	}}
}

func openSnowflake() (Maker, error) {
	node, err := snowflake.NewNode(1)
	return Maker{Source: func() Source {
		return Source{Next: func() (high, low uint64, err error) {
			return 0, uint64(node.Generate()), nil
		}}
	}}, err
}

func openSonyflake() (Maker, error) {
	machine, err := sonyflake.New(sonyflake.Settings{MachineID: func() (uint16, error) { return 1, nil }})
	return Maker{Source: func() Source {
		return Source{Next: func() (high, low uint64, err error) {
			low, err = machine.NextID()
			return 0, low, err
		}}
	}}, err
}
