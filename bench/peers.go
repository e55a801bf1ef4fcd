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
	bits int    // of an ID; 0 if it makes none
	call string // what is called

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
)

// peers are ours first, then what people use instead, and last what the costs are measured against.
var peers = []peer{
	{
		name: "randflake Generate", bits: 64, call: "randflake.Generator.Generate, all nodes leased",
		perSecond: ownPerSecond,
		open:      openGenerate,
	},
	{
		name: "randflake Fill", bits: 64, call: "randflake.Generator.Fill, 1,024 IDs a call, all nodes leased",
		perSecond: ownPerSecond, perCall: 1024,
		open: openFill(1024),
	},
	{
		name: "randflake Fill 1", bits: 64, call: "randflake.Generator.Fill, an ID a call",
		perSecond: ownPerSecond,
		open:      openFill(1),
	},
	{
		name: "randflake Fill 4", bits: 64, call: "randflake.Generator.Fill, 4 IDs a call",
		perSecond: ownPerSecond, perCall: 4,
		open: openFill(4),
	},
	{
		name: "randflake Fill 16", bits: 64, call: "randflake.Generator.Fill, 16 IDs a call",
		perSecond: ownPerSecond, perCall: 16,
		open: openFill(16),
	},
	{
		name: "randflake Wait", bits: 64, call: "randflake.Generator.Wait, one node leased",
		perSecond: randflake.MaxSequence + 1, waits: true,
		open: openWait,
	},
	{
		name: "Cipher Encrypt", bits: 64, call: "randflake.Cipher.Encrypt, one block",
		open: openEncrypt,
	},
	{
		name: "gosuda.org/randflake 2.1", bits: 64,
		call:      "published.go: the algorithm of gosuda.org/randflake/v2 2.1",
		perSecond: ownPerSecond,
		open:      openPublished,
	},
	{
		name: "Snowflake randflake", bits: 64,
		call:      "randflake/snowflake, Generator.Generate, RunAhead, one worker",
		perSecond: snowflakePerSecond,
		open:      openOwnSnowflake,
	},
	{
		name: "ULID randflake", bits: 128, call: "randflake/ulid, Generator.Generate",
		open: openOwnULID,
	},

	{
		name: "UUID v4", bits: 128, call: "github.com/google/uuid, NewRandom",
		open: each(ends(google.NewRandom)),
	},
	{
		name: "crypto/rand 16 bytes", bits: 128, call: "crypto/rand, Read",
		open: openCrypto(16),
	},
	{
		name: "crypto/rand 8 bytes", bits: 64, call: "crypto/rand, Read",
		open: openCrypto(8),
	},
	{
		name: "UUID v7 google", bits: 128, call: "github.com/google/uuid, NewV7",
		perSecond: 1e9 / 256,
		open:      each(ends(google.NewV7)),
	},
	{
		name: "ULID", bits: 128, call: "github.com/oklog/ulid/v2, Make",
		open: each(ends(infallible(oklog.Make))),
	},
	{
		name: "KSUID", bits: 160, call: "github.com/segmentio/ksuid, NewRandom",
		open: each(nextKSUID),
	},
	{
		name: "xid", bits: 96, call: "github.com/rs/xid, New",
		perSecond: 1 << 24,
		open:      each(nextXID),
	},
	{
		name: "Snowflake bwmarrin", bits: 64, call: "github.com/bwmarrin/snowflake, Node.Generate, one node",
		perSecond: snowflakePerSecond,
		open:      openBwmarrin,
	},
	{
		name: "Sonyflake", bits: 64, call: "github.com/sony/sonyflake, NextID, one machine",
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
		name: "atomic counter", bits: 64, call: "sync/atomic, Uint64.Add, one for all",
		open: openAtomic,
	},
	{
		name: "AES-128", bits: 128, call: "crypto/aes, one block",
		open: openAES,
	},
	{
		name: "the loop", call: "a function that counts",
		open: openLoop,
	},
}

// peerNamed returns the peer of a name.
func peerNamed(name string) peer {
	all := slices.Concat(peers, texts)
	return all[slices.IndexFunc(all, func(p peer) bool { return p.name == name })]
}
