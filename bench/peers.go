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
	{name: "randflake Generate", bits: 64, perSecond: ownPerSecond, open: openGenerate,
		call: "randflake.Generator.Generate, all nodes leased"},
	{name: "randflake Fill", bits: 64, perSecond: ownPerSecond, perCall: 1024, open: openFill(1024),
		call: "randflake.Generator.Fill, 1,024 IDs a call, all nodes leased"},
	{name: "randflake Fill 1", bits: 64, perSecond: ownPerSecond, open: openFill(1),
		call: "randflake.Generator.Fill, an ID a call"},
	{name: "randflake Fill 4", bits: 64, perSecond: ownPerSecond, perCall: 4, open: openFill(4),
		call: "randflake.Generator.Fill, 4 IDs a call"},
	{name: "randflake Fill 16", bits: 64, perSecond: ownPerSecond, perCall: 16, open: openFill(16),
		call: "randflake.Generator.Fill, 16 IDs a call"},
	{name: "randflake Wait", bits: 64, perSecond: randflake.MaxSequence + 1, waits: true, open: openWait,
		call: "randflake.Generator.Wait, one node leased"},
	{name: "Cipher Encrypt", bits: 64, open: openEncrypt,
		call: "randflake.Cipher.Encrypt, one block"},
	{name: "gosuda.org/randflake 2.1", bits: 64, perSecond: ownPerSecond, open: openPublished,
		call: "published.go: the algorithm of gosuda.org/randflake/v2 2.1"},
	{name: "Snowflake randflake", bits: 64, perSecond: snowflakePerSecond, open: openOwnSnowflake,
		call: "randflake/snowflake, Generator.Generate, RunAhead, one worker"},
	{name: "ULID randflake", bits: 128, open: openOwnULID,
		call: "randflake/ulid, Generator.Generate"},

	{name: "UUID v4", bits: 128, open: each(ends(google.NewRandom)),
		call: "github.com/google/uuid, NewRandom"},
	{name: "crypto/rand 16 bytes", bits: 128, open: openCrypto(16),
		call: "crypto/rand, Read"},
	{name: "crypto/rand 8 bytes", bits: 64, open: openCrypto(8),
		call: "crypto/rand, Read"},
	{name: "UUID v7 google", bits: 128, perSecond: 1e9 / 256, open: each(ends(google.NewV7)),
		call: "github.com/google/uuid, NewV7"},
	{name: "ULID", bits: 128, open: each(ends(infallible(oklog.Make))),
		call: "github.com/oklog/ulid/v2, Make"},
	{name: "KSUID", bits: 160, open: each(nextKSUID),
		call: "github.com/segmentio/ksuid, NewRandom"},
	{name: "xid", bits: 96, perSecond: 1 << 24, open: each(nextXID),
		call: "github.com/rs/xid, New"},
	{name: "Snowflake bwmarrin", bits: 64, perSecond: snowflakePerSecond, open: openBwmarrin,
		call: "github.com/bwmarrin/snowflake, Node.Generate, one node"},
	{name: "Sonyflake", bits: 64, perSecond: 256e2, waits: true, open: openSonyflake,
		call: "github.com/sony/sonyflake, NextID, one machine"},

	{name: yardstick, open: each(func() (high, low uint64, err error) { return 0, rand.Uint64(), nil }),
		call: "math/rand/v2, Uint64"},
	{name: "time.Now", call: "time, Now",
		open: each(func() (high, low uint64, err error) { return 0, uint64(time.Now().UnixNano()), nil })},
	{name: "atomic counter", bits: 64, open: openAtomic,
		call: "sync/atomic, Uint64.Add, one for all"},
	{name: "AES-128", bits: 128, open: openAES,
		call: "crypto/aes, one block"},
	{name: "the loop", open: openLoop,
		call: "a function that counts"},
}

// peerNamed returns the peer of a name.
func peerNamed(name string) peer {
	all := slices.Concat(peers, texts)
	return all[slices.IndexFunc(all, func(p peer) bool { return p.name == name })]
}
