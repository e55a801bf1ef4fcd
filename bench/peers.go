package main

import (
	"context"
	"crypto/aes"
	crand "crypto/rand"
	"encoding/binary"
	"log"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"

	bwmarrin "github.com/bwmarrin/snowflake"
	gofrs "github.com/gofrs/uuid/v5"
	google "github.com/google/uuid"
	oklog "github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// A peer is a source of IDs, or of something to compare their cost with.
type peer struct {
	name, call string
	bits       int // of an ID; 0 if it makes none

	unpredictable string // whether seen IDs don't help to guess others
	sortable      string // whether later IDs are greater
	featured      bool   // in the README's table and in pictures

	// What the format allows, in IDs a second; 0 means no limit. A peer that waits there is measured over whole seconds:
	// the figure is the limit, and not what an ID costs.
	perSecond float64
	waits     bool

	perCall int // IDs that each call makes, if more than one
	open    func() maker
}

func (p peer) idsPerCall() int { return max(1, p.perCall) }

// A maker makes the sources of a peer, each for one goroutine. Sources may share state, as generators do.
type maker struct {
	source func() next
	close  func() // may be nil
}

// next makes an ID, or perCall of them, and returns the first and the last 64 bits of the first one. All peers are called
// through such a function, so that the call costs them all the same.
type next func() (high, low uint64, err error)

// yardstick is the peer that ratios are to.
const yardstick = "math/rand/v2"

const (
	ownPerSecond       = (randflake.MaxNode + 1) * (randflake.MaxSequence + 1)
	snowflakePerSecond = 4096e3
	timeShows          = "yes, but the time shows"
)

// standard are the UUIDs of Go's standard library, which it has from 1.27 on.
var standard []peer

func peers() []peer {
	list := []peer{
		{name: "randflake Generate", call: "randflake.Generator.Generate, all nodes leased", bits: 64, unpredictable: "yes", sortable: "no",
			featured: true, perSecond: ownPerSecond, open: openGenerate},
		{name: "randflake Fill", call: "randflake.Generator.Fill, 1,024 IDs a call, all nodes leased", bits: 64, unpredictable: "yes", sortable: "no",
			featured: true, perSecond: ownPerSecond, perCall: 1024, open: openFill},
		{name: "randflake Wait", call: "randflake.Generator.Wait, one node leased", bits: 64, unpredictable: "yes", sortable: "no",
			perSecond: randflake.MaxSequence + 1, waits: true, open: openWait},
		{name: "Cipher Encrypt", call: "randflake.Cipher.Encrypt, one block", bits: 64, unpredictable: "yes", sortable: "no", open: openEncrypt},
		{name: "gosuda.org/randflake 1.8", call: "published.go: that of gosuda.org/randflake 1.8, with a lock, without which it repeats IDs", bits: 64,
			unpredictable: "yes", sortable: "no", featured: true, perSecond: ownPerSecond, open: openPublished(openPublished1)},
		{name: "gosuda.org/randflake 2.1", call: "published.go: that of gosuda.org/randflake/v2 2.1", bits: 64,
			unpredictable: "yes", sortable: "no", featured: true, perSecond: ownPerSecond, open: openPublished(openPublished2)},

		{name: "Snowflake randflake", call: "randflake/snowflake, Generator.Generate, RunAhead, one worker", bits: 64, unpredictable: "no", sortable: "yes",
			featured: true, perSecond: snowflakePerSecond, open: openOwnSnowflake(false, snowflake.RunAhead(20*365*24*time.Hour))},
		{name: "Snowflake randflake waiting", call: "randflake/snowflake, Generator.Wait, one worker", bits: 64, unpredictable: "no", sortable: "yes",
			perSecond: snowflakePerSecond, waits: true, open: openOwnSnowflake(true)},
		{name: "ULID randflake", call: "randflake/ulid, Generator.Generate", bits: 128, unpredictable: "yes, but the time shows: 32 random bits to the next one",
			sortable: "by the millisecond", featured: true, open: openOwnULID},

		{name: "UUID v4", call: "github.com/google/uuid, NewRandom", bits: 128, unpredictable: "yes", sortable: "no", featured: true,
			open: each(func() (high, low uint64, err error) { return ends(google.NewRandom()) })},
		{name: "UUID v4 pooled", call: "github.com/google/uuid, NewRandom after EnableRandPool", bits: 128,
			unpredictable: "yes, but the pool stays in memory", sortable: "no", open: openPooled},
		{name: "crypto/rand 16 bytes", call: "crypto/rand, Read", bits: 128, unpredictable: "yes", sortable: "no", open: openCrypto(16)},
		{name: "crypto/rand 8 bytes", call: "crypto/rand, Read", bits: 64, unpredictable: "yes", sortable: "no", open: openCrypto(8)},
		{name: "UUID v7 google", call: "github.com/google/uuid, NewV7", bits: 128, unpredictable: timeShows, sortable: "yes", featured: true,
			perSecond: 1e9 / 256, open: each(func() (high, low uint64, err error) { return ends(google.NewV7()) })},
		{name: "UUID v7 gofrs", call: "github.com/gofrs/uuid/v5, NewV7", bits: 128, unpredictable: timeShows, sortable: "yes",
			perSecond: 3072e3, open: each(func() (high, low uint64, err error) { return ends(gofrs.NewV7()) })},
		{name: "ULID", call: "github.com/oklog/ulid/v2, Make", bits: 128, unpredictable: "no: math/rand, seeded by the time", sortable: "yes", featured: true,
			open: each(func() (high, low uint64, err error) { return ends(oklog.Make(), nil) })},
		{name: "ULID crypto/rand", call: "github.com/oklog/ulid/v2, New with crypto/rand.Reader", bits: 128, unpredictable: timeShows, sortable: "by the millisecond",
			open: each(func() (high, low uint64, err error) { return ends(oklog.New(oklog.Now(), crand.Reader)) })},
		{name: "KSUID", call: "github.com/segmentio/ksuid, NewRandom", bits: 160, unpredictable: timeShows, sortable: "by the second", open: each(func() (high, low uint64, err error) {
			id, err := ksuid.NewRandom()
			return binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[12:]), err
		})},
		{name: "xid", call: "github.com/rs/xid, New", bits: 96, unpredictable: "no", sortable: "by the second", featured: true, perSecond: 1 << 24, open: each(func() (high, low uint64, err error) {
			id := xid.New()
			return binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[4:]), nil
		})},
		{name: "Snowflake bwmarrin", call: "github.com/bwmarrin/snowflake, Node.Generate, one node", bits: 64, unpredictable: "no", sortable: "yes", featured: true,
			perSecond: snowflakePerSecond, open: func() maker {
				node := must(bwmarrin.NewNode(1))
				return shared(func() (high, low uint64, err error) { return 0, uint64(node.Generate()), nil })
			}},
		{name: "Sonyflake", call: "github.com/sony/sonyflake, NextID, one machine", bits: 64, unpredictable: "no", sortable: "yes", perSecond: 256e2, waits: true, open: func() maker {
			machine := must(sonyflake.New(sonyflake.Settings{MachineID: func() (uint16, error) { return 1, nil }}))
			return shared(func() (high, low uint64, err error) {
				low, err = machine.NextID()
				return 0, low, err
			})
		}},

		{name: yardstick, call: "math/rand/v2, Uint64", featured: true, open: each(func() (high, low uint64, err error) { return 0, rand.Uint64(), nil })},
		{name: "time.Now", call: "time, Now", open: each(func() (high, low uint64, err error) { return 0, uint64(time.Now().UnixNano()), nil })},
		{name: "atomic counter", call: "sync/atomic, Uint64.Add, one for all", bits: 64, unpredictable: "no", sortable: "yes", open: func() maker {
			var counter atomic.Uint64
			return shared(func() (high, low uint64, err error) { return 0, counter.Add(1), nil })
		}},
		{name: "AES-128", call: "crypto/aes, one block", bits: 128, unpredictable: "yes", sortable: "no", open: openAES},
		{name: "the loop", call: "a function that counts", open: counting(func(counter *line) next {
			return func() (high, low uint64, err error) {
				counter.n++
				return 0, counter.n, nil
			}
		})},
	}
	return append(list, standard...)
}

// named returns the peers of these names, which must exist.
func named(names ...string) (list []peer) {
	for _, name := range names {
		for _, p := range peers() {
			if p.name == name {
				list = append(list, p)
			}
		}
	}
	return list
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// each opens sources that share no more than what is behind next.
func each(f next) func() maker { return func() maker { return shared(f) } }

func shared(f next) maker { return maker{source: func() next { return f }} }

func closing(stop func(), f next) maker { return maker{source: func() next { return f }, close: stop} }

// ends returns the first and the last 64 bits of an ID.
func ends[T ~[16]byte](id T, err error) (high, low uint64, _ error) {
	return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]), err
}

// newGenerator returns a generator with so many nodes. With all of them, the limit of the format is never reached.
func newGenerator(nodes uint32) *randflake.Generator {
	start := time.Now().Truncate(time.Second)
	return must(randflake.New(randflake.NewSecret(), randflake.Lease{LastNode: nodes - 1, Start: start, End: start.Add(24 * time.Hour)}))
}

func openGenerate() maker {
	g := newGenerator(randflake.MaxNode + 1)
	return closing(func() { g.Close() }, func() (high, low uint64, err error) {
		id, err := g.Generate()
		return 0, uint64(id), err
	})
}

func openFill() maker {
	g := newGenerator(randflake.MaxNode + 1)
	return maker{close: func() { g.Close() }, source: func() next {
		ids := make([]randflake.ID, 1024)
		return func() (high, low uint64, err error) {
			_, err = g.Fill(ids)
			return 0, uint64(ids[0]), err
		}
	}}
}

func openWait() maker {
	g, ctx := newGenerator(1), context.Background()
	return closing(func() { g.Close() }, func() (high, low uint64, err error) {
		id, err := g.Wait(ctx)
		return 0, uint64(id), err
	})
}

func openEncrypt() maker {
	c := randflake.NewCipher(randflake.NewSecret())
	return counting(func(counter *line) next {
		return func() (high, low uint64, err error) {
			counter.n++
			return 0, uint64(c.Encrypt(randflake.Raw(counter.n))), nil
		}
	})()
}

func openOwnSnowflake(waits bool, options ...snowflake.Option) func() maker {
	return func() maker {
		g, ctx := must(snowflake.New(snowflake.Twitter(), snowflake.Forever(1), options...)), context.Background()
		stop := func() { g.Close() }
		if waits {
			return closing(stop, func() (high, low uint64, err error) {
				id, err := g.Wait(ctx)
				return 0, uint64(id), err
			})
		}
		return closing(stop, func() (high, low uint64, err error) {
			id, err := g.Generate()
			return 0, uint64(id), err
		})
	}
}

func openOwnULID() maker {
	g := must(ulid.New())
	return shared(func() (high, low uint64, err error) { return ends(g.Generate()) })
}

// openPooled turns the pool on for all of the process, until it is closed.
func openPooled() maker {
	google.EnableRandPool()
	return closing(google.DisableRandPool, func() (high, low uint64, err error) { return ends(google.NewRandom()) })
}

// openCrypto opens sources that read so many bytes, 8 or 16.
func openCrypto(size int) func() maker {
	return counting(func(counter *line) next {
		id := counter.rest[:size]
		return func() (high, low uint64, err error) {
			_, err = crand.Read(id)
			return uint64(size-8) * binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[size-8:]), err
		}
	})
}

func openAES() maker {
	key := make([]byte, 16)
	crand.Read(key)
	block := must(aes.NewCipher(key))
	return counting(func(counter *line) next {
		text := (*[16]byte)(counter.rest[:])
		return func() (high, low uint64, err error) {
			counter.n++
			binary.BigEndian.PutUint64(text[8:], counter.n)
			clear(text[:8])
			block.Encrypt(text[:], text[:])
			return ends(*text, nil)
		}
	})()
}

// A line is a source's own memory: cache lines that no other source writes to.
type line struct {
	n    uint64
	rest [128 - unsafe.Sizeof(uint64(0))]byte
}

// counting opens sources that count, each within a range of its own.
func counting(source func(counter *line) next) func() maker {
	return func() maker {
		var sources uint64
		return maker{source: func() next {
			counter := &line{n: sources << 48}
			sources++
			return source(counter)
		}}
	}
}
