package main

import (
	"context"
	"crypto/aes"
	crand "crypto/rand"
	"encoding/binary"
	"log"
	"sync/atomic"
	"time"
	"unsafe"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// An opener opens a peer: it returns what makes sources of it, each for one goroutine. Sources may share state, as
// generators do.
type opener func() (source func() next)

// next makes an ID, or perCall of them, and returns the first and the last 64 bits of the first
// one. All peers are called through such a function, so that the call costs them all the same.
type next func() (high, low uint64, err error)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// each opens sources that share no more than what is behind next.
func each(f next) opener { return func() func() next { return shared(f) } }

func shared(f next) func() next { return func() next { return f } }

// ends returns the first and the last 64 bits of IDs of 16 bytes.
func ends[T ~[16]byte](f func() (T, error)) next {
	return func() (high, low uint64, err error) {
		id, err := f()
		return binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]), err
	}
}

// infallible adds a nil error to what f returns.
func infallible[T any](f func() T) func() (T, error) {
	return func() (T, error) { return f(), nil }
}

// A line is a source's own memory: cache lines that no other source writes to.
type line struct {
	n    uint64
	rest [128 - unsafe.Sizeof(uint64(0))]byte
}

// counting makes sources that count, each within a range of its own.
func counting(source func(counter *line) next) func() next {
	var sources uint64
	return func() next {
		counter := &line{n: sources << 48}
		sources++
		return source(counter)
	}
}

// newGenerator returns a generator with a number of nodes. With all of them, the limit of the
// format is never reached.
func newGenerator(nodes uint32) *randflake.Generator {
	start := time.Now().Truncate(time.Second)
	return must(randflake.New(randflake.NewSecret(), randflake.Lease{
		LastNode: nodes - 1,
		Start:    start,
		End:      start.Add(24 * time.Hour),
	}))
}

func openGenerate() func() next {
	g := newGenerator(randflake.MaxNode + 1)
	return shared(func() (high, low uint64, err error) {
		id, err := g.Generate()
		return 0, uint64(id), err
	})
}

// openFill opens sources that fill slices of n IDs.
func openFill(n int) opener {
	return func() func() next {
		g := newGenerator(randflake.MaxNode + 1)
		return func() next {
			ids := make([]randflake.ID, n)
			return func() (high, low uint64, err error) {
				_, err = g.Fill(ids)
				return 0, uint64(ids[0]), err
			}
		}
	}
}

func openWait() func() next {
	g := newGenerator(1)
	ctx := context.Background()
	return shared(func() (high, low uint64, err error) {
		id, err := g.Wait(ctx)
		return 0, uint64(id), err
	})
}

func openEncrypt() func() next {
	c := randflake.NewCipher(randflake.NewSecret())
	return counting(func(counter *line) next {
		return func() (high, low uint64, err error) {
			counter.n++
			return 0, uint64(c.Encrypt(randflake.Raw(counter.n))), nil
		}
	})
}

func openOwnSnowflake() func() next {
	const years = 20 * 365 * 24 * time.Hour
	g := must(snowflake.New(snowflake.Twitter(), snowflake.Forever(1), snowflake.RunAhead(years)))
	return shared(func() (high, low uint64, err error) {
		id, err := g.Generate()
		return 0, uint64(id), err
	})
}

func openOwnULID() func() next { return shared(ends(must(ulid.New()).Generate)) }

func nextKSUID() (high, low uint64, err error) {
	id, err := ksuid.NewRandom()
	return binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[12:]), err
}

func nextXID() (high, low uint64, err error) {
	id := xid.New()
	return binary.BigEndian.Uint64(id[:]), binary.BigEndian.Uint64(id[4:]), nil
}

func openBwmarrin() func() next {
	node := must(bwmarrin.NewNode(1))
	return shared(func() (high, low uint64, err error) { return 0, uint64(node.Generate()), nil })
}

func openSonyflake() func() next {
	machine := must(sonyflake.New(sonyflake.Settings{MachineID: infallible(func() uint16 { return 1 })}))
	return shared(func() (high, low uint64, err error) {
		low, err = machine.NextID()
		return 0, low, err
	})
}

// openCrypto opens sources that read a number of bytes, 8 or 16.
func openCrypto(size int) opener {
	return func() func() next {
		return counting(func(counter *line) next {
			id := counter.rest[:size]
			return func() (high, low uint64, err error) {
				_, err = crand.Read(id)
				return binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[size-8:]), err
			}
		})
	}
}

func openAtomic() func() next {
	var counter atomic.Uint64
	return shared(func() (high, low uint64, err error) { return 0, counter.Add(1), nil })
}

func openAES() func() next {
	key := make([]byte, 16)
	crand.Read(key)
	block := must(aes.NewCipher(key))
	return counting(func(counter *line) next {
		text := counter.rest[:16]
		return func() (high, low uint64, err error) {
			counter.n++
			clear(text)
			binary.BigEndian.PutUint64(text[8:], counter.n)
			block.Encrypt(text, text)
			return binary.BigEndian.Uint64(text), binary.BigEndian.Uint64(text[8:]), nil
		}
	})
}

func openLoop() func() next {
	return counting(func(counter *line) next {
		return func() (high, low uint64, err error) {
			counter.n++
			return 0, counter.n, nil
		}
	})
}
