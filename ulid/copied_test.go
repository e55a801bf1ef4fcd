package ulid

import (
	cryptorand "crypto/rand"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/vmgen"
)

// TestCopiedMachine: a copy of the machine makes no ID that the original or another copy makes.
func TestCopiedMachine(t *testing.T) {
	fill := (*Generator).Fill
	each := func(g *Generator, ids []ID) (int, error) { return idtest.One(g.Generate)(ids) }
	strict := []Option{Strict()}
	for _, tt := range []copying{
		{"before Fill", nil, fill, 0, false},
		{"before Generate", nil, each, 0, false},
		{"within Fill", nil, fill, 1, true},
		{"within a call of Generate", nil, each, 1, false},
		{"strict, before Fill", strict, fill, 0, false},
		{"strict, before Generate", strict, each, 0, false},
		{"strict, within Fill", strict, fill, 1, true},
		{"strict, within the second part of Fill", strict, fill, 3, true},
		{"strict, within a call of Generate", strict, each, 1, false},
	} {
		t.Run(tt.name, tt.test)
	}
}

// A copying is how a machine is copied.
type copying struct {
	name    string
	options []Option
	fill    func(g *Generator, ids []ID) (int, error)
	within  int  // at which reading of random bytes by fill, or 0: before that
	anew    bool // all IDs of that fill are made anew; else the first ones are the original's
}

// test copies a machine twice.
func (c copying) test(t *testing.T) {
	g := mustNew(append(c.options, WithClock(frozen(1000)))...)
	var machines [3]atomic.Uint64
	var copies [3]*Generator
	for i := range copies {
		copies[i] = copyOf(g, &machines[i])
	}
	ids := make([]ID, bufferSize)
	all := &idtest.Ledger[ID]{TB: t}
	all.Take(ids, g.Fill)
	first := ids[0]
	id, _ := copies[0].Generate()
	require.That(t, id == first, "not copied yet, and %v is another ID than %v", id, first)

	starts := map[[4]byte]bool{[4]byte(first[6:]): true}
	for i, twin := range copies[1:] {
		fill := func(ids []ID) (int, error) { return c.fill(twin, ids) }
		machine := &machines[i+1]
		undo := vmgen.Pretend(machine)
		if c.within > 0 {
			copyWithin(twin, machine, c.within)
			n, err := fill(ids)
			require.NoError(t, err)
			if c.anew {
				all.Add(ids[:n]...)
			}
		}
		machine.Store(1)
		own := &idtest.Ledger[ID]{TB: t}
		if g.strict {
			own.Compare = ID.Compare
		}
		for range 3 {
			n, err := own.Take(ids, fill)
			require.NoError(t, err)
			all.Add(ids[:n]...)
			starts[[4]byte(ids[0][6:])] = true
		}
		undo()
	}
	// By 32 bits, which steps don't reach.
	require.That(t, len(starts) >= len(copies), "copies go on where the original was")
}

// copyOf returns what a generator is in a copy of its machine. From then on both have one state
// each, for one goroutine.
func copyOf(g *Generator, machine *atomic.Uint64) *Generator {
	s := g.take()
	defer g.put(s)
	g.states.New = func() any { return s }
	if s.ms == noTime {
		s.newID(1000) // which reads random bytes ahead
	}
	twin := *s
	twin.machine = vmgen.Of(machine)
	c := &Generator{now: g.now, strict: g.strict, shared: &twin}
	c.states.New = func() any { return &twin }
	return c
}

// copyWithin has the machine of c copied at a reading of random bytes. Before the first one, a call has used up those
// that were read ahead.
func copyWithin(c *Generator, machine *atomic.Uint64, reading int) {
	s := c.take()
	defer c.put(s)
	s.random = func(p []byte) {
		if reading--; reading == 0 {
			machine.Store(1)
		}
		cryptorand.Read(p)
	}
}
