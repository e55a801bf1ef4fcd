// Package snowflake is a drop-in for github.com/bwmarrin/snowflake v0.3.0: change the import path to
// github.com/randflake/randflake/compat/bwmarrin and nothing else. The package is not named after its directory, so that calls such
// as snowflake.NewNode still compile.
//
// IDs, their texts and their JSON are the same. The generator is that of github.com/randflake/randflake/snowflake, which new code
// should use: it has errors, bulk generation and layouts of any form. The differences are:
//
//   - All Nodes of one number in a process share one generator. Theirs repeat IDs, as where each request makes a Node.
//   - [Keep] leases the number from a store. Theirs repeat IDs where two processes have one number.
//   - [Node.Generate] sleeps where theirs spins, and IDs that were waited for can carry a time up to 20 ms in the past.
//   - [NewNode] returns an error for what no ID can be made of: an Epoch in the future or before 1970, and StepBits of 0.
//   - [ID.Time], [ID.Node] and [ID.Step] read Epoch, NodeBits and StepBits when they are called.
//   - Base32 and Base58 also write negative IDs, and their Parse functions refuse more than 64 bits. Texts of errors differ.
package snowflake

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// The format of IDs, which NewNode and Keep read. Change it before the first call of this package. Names and defaults are those of
// the package that this one replaces.
var (
	Epoch    int64 = 1288834974657 // Unix milliseconds: 2010-11-04 01:42:54.657 UTC
	NodeBits uint8 = 10
	StepBits uint8 = 12
)

// layoutOf returns the format as a layout.
func layoutOf() (*snowflake.Layout, error) {
	epoch := time.UnixMilli(Epoch).UTC()
	if epoch.After(time.Now()) {
		return nil, fmt.Errorf("snowflake: Epoch %d is in the future: %s", Epoch, epoch.Format(time.RFC3339))
	}
	parts := fmt.Sprintf("time %d", min(63-int(NodeBits)-int(StepBits), 47)) // 47 bits end in the year 6429, and 48 are too many
	if NodeBits > 0 {
		parts += fmt.Sprintf(", node %d", NodeBits)
	}
	return snowflake.ParseLayout(fmt.Sprintf("bwmarrin: %s, sequence %d; 1ms since %s", parts, StepBits, epoch.Format(time.RFC3339Nano)))
}

// A Node makes the IDs of one number. It is safe for concurrent use.
type Node struct {
	generator *snowflake.Generator
	keeper    *lease.Keeper[*snowflake.Generator] // nil if the number is the caller's own
}

// A series is what all IDs of a number have in common. Its generator is shared by all Nodes that would make the same IDs.
type series struct {
	epoch              int64
	nodeBits, stepBits uint8
	number             int64
}

var (
	generatorsMu sync.Mutex
	generators   = map[series]*snowflake.Generator{}
)

var began = time.Now()

// now is the time when the process began, and what has passed since by the monotonic clock: a step of the system's clock has no effect.
func now() time.Time { return began.Add(time.Since(began)) }

// NewNode returns a Node of a number, which no other process may have: that is up to the caller. [Keep] needs no numbers.
func NewNode(node int64) (*Node, error) {
	generatorsMu.Lock()
	defer generatorsMu.Unlock()
	of := series{Epoch, NodeBits, StepBits, node}
	if generator := generators[of]; generator != nil {
		return &Node{generator: generator}, nil
	}
	generator, err := newGenerator(node)
	if err != nil {
		return nil, err
	}
	generators[of] = generator
	return &Node{generator: generator}, nil
}

func newGenerator(number int64) (*snowflake.Generator, error) {
	layout, err := layoutOf()
	if err != nil {
		return nil, err
	}
	last := min(layout.Workers()-1, math.MaxUint32)
	if number < 0 || uint64(number) > last {
		return nil, fmt.Errorf("snowflake: node %d: want 0 to %d", number, last)
	}
	always := snowflake.Forever(uint32(number))
	always.Start = time.Unix(0, 0) // Epoch may be long ago, and clocks in tests as well
	return snowflake.New(layout, always, snowflake.WithClock(now))
}

// Keep returns a Node with a number that is leased from a space and may change with each window. No two Nodes that are kept in one
// space make the same ID, in whatever processes they are. It returns the errors of snowflake.Keep, as for a space of more nodes than
// NodeBits have room for. While processes with numbers of their own still run, their IDs can be the same. Close the Node at the end.
func Keep(ctx context.Context, space lease.Source, options ...lease.Option) (*Node, error) {
	layout, err := layoutOf()
	if err != nil {
		return nil, err
	}
	keeper, err := snowflake.Keep(ctx, space, layout, snowflake.Leasing(options...))
	if err != nil {
		return nil, err
	}
	return &Node{keeper.Generator(), keeper}, nil
}

// Close ends the lease of a Node of Keep, which makes no more IDs. For one of NewNode it does nothing.
func (n *Node) Close() {
	if n.keeper != nil {
		n.keeper.Close()
	}
}

// leasePause is how long Generate sleeps before it looks again whether the keeper has another lease.
const leasePause = 10 * time.Millisecond

// Generate returns a new ID. It waits while no ID is certain to be unique: for the next millisecond, and after Keep also for a lease
// if the store was away for too long, or for a clock that stepped back.
//
// It panics where waiting doesn't help: after Close, after the space was retired, after the last time that NodeBits and StepBits leave
// room for, and if the number is the caller's own, in a copy of the machine, where another process has it now.
func (n *Node) Generate() ID {
	for {
		id, err := n.generator.Wait(context.Background())
		switch {
		case err == nil:
			return ID(id)
		case !n.awaitsLease(err):
			panic(fmt.Sprintf("snowflake: Generate can make no more IDs, and waiting doesn't help: %v", err))
		}
		time.Sleep(leasePause)
	}
}

// awaitsLease reports whether err, which ended a wait, is over as soon as the keeper has another lease, and whether that can be.
func (n *Node) awaitsLease(err error) bool {
	return n.keeper != nil && errors.Is(err, randflake.ErrLeaseEnded) && !errors.Is(n.keeper.Status().Err, lease.ErrRetired)
}
