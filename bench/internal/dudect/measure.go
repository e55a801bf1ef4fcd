package dudect

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"runtime/debug"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/bench/internal/measure"
)

// batchLength is how many measurements are prepared before they are made.
const batchLength = 1 << 11

const (
	fixed  = 0
	random = 1
)

// A batch has the inputs of some measurements, of both classes in random order. Those of the fixed
// class lie in memory as those of the random one do, and are written in the same way.
type batch struct {
	subject
	random  *rand.Rand
	cipher  *randflake.Cipher
	block   randflake.Raw // the fixed plaintext
	key     [16]byte      // the fixed one
	classes [batchLength]uint64
	blocks  []randflake.Raw
	secrets []randflake.Secret
	dst     []randflake.ID
	ticks   [batchLength]float64
}

func newBatch(s subject, seed uint64) *batch {
	b := &batch{subject: s, random: rand.New(rand.NewPCG(seed, 5))}
	b.block, b.key = randflake.Raw(b.random.Uint64()), randomKey(b.random)
	b.cipher = randflake.NewCipher(secretOf(b.key))
	b.blocks = make([]randflake.Raw, batchLength*s.calls*s.blocks)
	b.secrets = make([]randflake.Secret, batchLength*s.calls)
	b.dst = make([]randflake.ID, s.blocks)
	return b
}

// secretOf returns a secret with memory of its own.
func secretOf(key [16]byte) randflake.Secret {
	secret, err := randflake.SecretFromBytes(key[:])
	if err != nil {
		panic(err) // nobody draws the zero key
	}
	return secret
}

func randomKey(random *rand.Rand) (key [16]byte) {
	binary.LittleEndian.PutUint64(key[:8], random.Uint64())
	binary.LittleEndian.PutUint64(key[8:], random.Uint64())
	return key
}

// prepare draws the classes and the inputs. Where the key makes the class, plaintexts are random in
// both of them.
func (b *batch) prepare() {
	for i := range b.classes {
		b.classes[i] = b.random.Uint64() >> 63
		for j := range b.calls {
			secret, blocks := b.input(i*b.calls + j)
			byKey, byPlaintext := b.classes[i], uint64(random)
			if b.expand == nil {
				byKey, byPlaintext = fixed, b.classes[i]
			}
			*secret = secretOf(choose(byKey, b.key, randomKey(b.random)))
			for k := range blocks {
				blocks[k] = choose(byPlaintext, b.block, randflake.Raw(b.random.Uint64()))
			}
		}
	}
}

func choose[T any](class uint64, ofFixed, ofRandom T) T { return [...]T{ofFixed, ofRandom}[class] }

// input returns the place of a call's secret and blocks.
func (b *batch) input(call int) (*randflake.Secret, []randflake.Raw) {
	return &b.secrets[call], b.blocks[call*b.subject.blocks:][:b.subject.blocks]
}

// measure makes all measurements of the batch.
func (b *batch) measure() {
	for i := range b.ticks {
		from := measure.Ticks()
		for j := range b.calls {
			secret, blocks := b.input(i*b.calls + j)
			cipher := b.cipher
			if b.expand != nil {
				cipher = b.expand(*secret)
			}
			b.encrypt(cipher, b.dst, blocks)
		}
		b.ticks[i] = float64(measure.Ticks() - from)
	}
}

// compareClasses makes at least n measurements and compares the classes.
func compareClasses(ctx context.Context, s subject, seed uint64, n int) ([]cropped, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// The collector works between batches, not within them.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b := newBatch(s, seed)
	var calibration []float64
	for range 4 {
		b.prepare()
		b.measure()
		calibration = append(calibration, b.ticks[:]...)
	}
	sorter := newSorter(calibration)
	for done := 0; done < n; done += batchLength {
		if done/batchLength%16 == 0 {
			runtime.GC()
		}
		b.prepare()
		b.measure()
		for i, v := range b.ticks {
			sorter.add(b.classes[i], v)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return sorter.compare(), nil
}
