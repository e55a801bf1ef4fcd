package main

import (
	"math/rand/v2"
	"slices"
	"time"

	google "github.com/google/uuid"
	oklog "github.com/oklog/ulid/v2"

	"github.com/randflake/randflake"
)

// A peer is a source of IDs, or of something to compare their cost with.
type peer struct {
	name string
	call string // what is called

	bits          int    // of an ID; 0 if it makes none
	unpredictable string // whether seen IDs don't help to guess others
	sortable      string // whether later IDs are greater

	// What the format allows, in IDs a second; 0 means no limit. A peer that waits there is
	// measured over whole seconds: the figure is the limit, and not what an ID costs.
	perSecond float64
	waits     bool

	perCall int // IDs that each call makes, if more than one
	open    opener
}

func (p peer) idsPerCall() int { return max(1, p.perCall) }

// yardstick is the peer that ratios are to.
const yardstick = "math/rand/v2"

const (
	ownPerSecond       = (randflake.MaxNode + 1) * (randflake.MaxSequence + 1)
	snowflakePerSecond = 4096e3
	timeShows          = "yes, but the time shows"
)

// peers are ours first, then what people use instead, and last what the costs are measured against.
var peers = []peer{
	{
		name: "randflake Generate", call: "randflake.Generator.Generate, all nodes leased",
		bits: 64, unpredictable: "yes", sortable: "no",
		perSecond: ownPerSecond,
		open:      openGenerate,
	},
	{
		name: "randflake Fill", call: "randflake.Generator.Fill, 1,024 IDs a call, all nodes leased",
		bits: 64, unpredictable: "yes", sortable: "no",
		perSecond: ownPerSecond, perCall: 1024,
		open: openFill,
	},
	{
		name: "randflake Wait", call: "randflake.Generator.Wait, one node leased",
		bits: 64, unpredictable: "yes", sortable: "no",
		perSecond: randflake.MaxSequence + 1, waits: true,
		open: openWait,
	},
	{
		name: "Cipher Encrypt", call: "randflake.Cipher.Encrypt, one block",
		bits: 64, unpredictable: "yes", sortable: "no",
		open: openEncrypt,
	},
	{
		name: "gosuda.org/randflake 2.1", call: "published.go: the algorithm of gosuda.org/randflake/v2 2.1",
		bits: 64, unpredictable: "yes", sortable: "no",
		perSecond: ownPerSecond,
		open:      openPublished,
	},
	{
		name: "Snowflake randflake", call: "randflake/snowflake, Generator.Generate, RunAhead, one worker",
		bits: 64, unpredictable: "no", sortable: "yes",
		perSecond: snowflakePerSecond,
		open:      openOwnSnowflake,
	},
	{
		name: "ULID randflake", call: "randflake/ulid, Generator.Generate",
		bits: 128, unpredictable: "yes, but the time shows: 32 random bits to the next one", sortable: "by the millisecond",
		open: openOwnULID,
	},

	{
		name: "UUID v4", call: "github.com/google/uuid, NewRandom",
		bits: 128, unpredictable: "yes", sortable: "no",
		open: each(ends(google.NewRandom)),
	},
	{
		name: "crypto/rand 16 bytes", call: "crypto/rand, Read",
		bits: 128, unpredictable: "yes", sortable: "no",
		open: openCrypto(16),
	},
	{
		name: "crypto/rand 8 bytes", call: "crypto/rand, Read",
		bits: 64, unpredictable: "yes", sortable: "no",
		open: openCrypto(8),
	},
	{
		name: "UUID v7 google", call: "github.com/google/uuid, NewV7",
		bits: 128, unpredictable: timeShows, sortable: "yes",
		perSecond: 1e9 / 256,
		open:      each(ends(google.NewV7)),
	},
	{
		name: "ULID", call: "github.com/oklog/ulid/v2, Make",
		bits: 128, unpredictable: "no: math/rand, seeded by the time", sortable: "yes",
		open: each(ends(infallible(oklog.Make))),
	},
	{
		name: "KSUID", call: "github.com/segmentio/ksuid, NewRandom",
		bits: 160, unpredictable: timeShows, sortable: "by the second",
		open: each(nextKSUID),
	},
	{
		name: "xid", call: "github.com/rs/xid, New",
		bits: 96, unpredictable: "no", sortable: "by the second",
		perSecond: 1 << 24,
		open:      each(nextXID),
	},
	{
		name: "Snowflake bwmarrin", call: "github.com/bwmarrin/snowflake, Node.Generate, one node",
		bits: 64, unpredictable: "no", sortable: "yes",
		perSecond: snowflakePerSecond,
		open:      openBwmarrin,
	},
	{
		name: "Sonyflake", call: "github.com/sony/sonyflake, NextID, one machine",
		bits: 64, unpredictable: "no", sortable: "yes",
		perSecond: 256e2, waits: true,
		open: openSonyflake,
	},

	{
		name: yardstick, call: "math/rand/v2, Uint64",
		open: each(func() (high, low uint64, err error) { return 0, rand.Uint64(), nil }),
	},
	{
		name: "time.Now", call: "time, Now",
		open: each(func() (high, low uint64, err error) { return 0, uint64(time.Now().UnixNano()), nil }),
	},
	{
		name: "atomic counter", call: "sync/atomic, Uint64.Add, one for all",
		bits: 64, unpredictable: "no", sortable: "yes",
		open: openAtomic,
	},
	{
		name: "AES-128", call: "crypto/aes, one block",
		bits: 128, unpredictable: "yes", sortable: "no",
		open: openAES,
	},
	{
		name: "the loop", call: "a function that counts",
		open: openLoop,
	},
}

// peerNamed returns the peer of a name.
func peerNamed(name string) peer {
	return peers[slices.IndexFunc(peers, func(p peer) bool { return p.name == name })]
}
