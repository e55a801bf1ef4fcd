// Package snowflake is a drop-in for github.com/bwmarrin/snowflake v0.3.0: change the import path
// to github.com/randflake/randflake/compat/bwmarrin and nothing else. The package is not named
// after its directory, so that calls such as snowflake.NewNode still compile.
//
// IDs, their texts and their JSON are the same. The generator is that of
// github.com/randflake/randflake/snowflake, which new code should use: it has errors, bulk
// generation and layouts of any form. The differences are:
//
//   - All Nodes of one number in a process share one generator. Theirs repeat IDs, as where each request makes a Node.
//   - [Keep] leases the number from a store. Theirs repeat IDs where two processes have one number.
//   - [Node.Generate] sleeps where theirs spins, and IDs that were waited for can carry a time up to 20 ms in the past.
//   - A clock that is set has no effect until the process ends; on theirs it has none until NewNode is called again.
//   - [NewNode] returns an error where no ID can be made: for an Epoch in the future or before 1970, for StepBits of 0,
//     and for times that ended already, as the other parts have too many bits.
//   - [ID.Time], [ID.Node] and [ID.Step] read Epoch, NodeBits and StepBits when they are called.
//   - Base32 and Base58 also write negative IDs. Their Parse functions refuse more than 64 bits, and characters that are
//     no digits, such as capitals in Base32, which theirs take for 0. Texts of errors differ.
package snowflake

import (
	"context"
	"fmt"
	"time"

	"github.com/randflake/randflake/compat/internal/worker"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// The format of IDs, which NewNode and Keep read. Change it before the first call of this package.
// Names and defaults are those of the package that this one replaces.
var (
	Epoch    int64 = 1288834974657 // Unix milliseconds: 2010-11-04 01:42:54.657 UTC
	NodeBits uint8 = 10
	StepBits uint8 = 12
)

// layoutOf returns the format as a layout, in which there are IDs at present. It goes by a text, as
// there is no other way to make one.
func layoutOf() (*snowflake.Layout, error) {
	epoch := time.UnixMilli(Epoch).UTC()
	if epoch.After(time.Now()) {
		return nil, fmt.Errorf("snowflake: Epoch %d is in the future: %s", Epoch, epoch.Format(time.RFC3339))
	}
	parts := fmt.Sprintf("time %d", min(63-int(NodeBits)-int(StepBits), 47)) // 47 bits end in the year 6429, and 48 are too many
	if NodeBits > 0 {
		parts += fmt.Sprintf(", node %d", NodeBits)
	}
	layout, err := snowflake.ParseLayout(fmt.Sprintf("bwmarrin: %s, sequence %d; 1ms since %s", parts, StepBits, epoch.Format(time.RFC3339Nano)))
	if err != nil {
		return nil, fmt.Errorf("snowflake: Epoch %d, NodeBits %d, StepBits %d: %w", Epoch, NodeBits, StepBits, err)
	}
	if end := layout.Expires(); !time.Now().Before(end) {
		return nil, fmt.Errorf("snowflake: the times of %d NodeBits and %d StepBits ended at %s: want fewer bits, or a later Epoch",
			NodeBits, StepBits, end.Format(time.RFC3339Nano))
	}
	return layout, nil
}

// A Node makes the IDs of one number. It is safe for concurrent use.
type Node worker.Worker

// NewNode returns a Node of a number, which no other process may have: that is up to the caller.
// [Keep] needs no numbers. While this process has a Node of Keep, NewNode refuses the numbers of
// its space, but for those for which there were Nodes before.
func NewNode(node int64) (*Node, error) {
	layout, err := layoutOf()
	if err != nil {
		return nil, err
	}
	last := int64(1)<<min(NodeBits, 32) - 1
	if node < 0 || node > last {
		return nil, fmt.Errorf("snowflake: node %d: want 0 to %d", node, last)
	}
	w, err := worker.Own(layout, uint32(node))
	return (*Node)(w), err
}

// Keep returns a Node with a number that is leased from a space and may change with each window. No
// two Nodes that are kept in one space make the same ID, in whatever processes they are. It returns
// the errors of snowflake.Keep, as for a space of more nodes than NodeBits have room for. It leaves
// out the numbers for which this process called NewNode before: if n of these are consecutive, Keep
// uses up n+1 numbers of each window. But Nodes with numbers of their own in other processes can
// make the same IDs. The options are those of snowflake.Leasing. Close the Node at the end.
func Keep(ctx context.Context, space lease.Source, options ...lease.Option) (*Node, error) {
	layout, err := layoutOf()
	if err != nil {
		return nil, err
	}
	w, err := worker.Keep(ctx, space, layout, options)
	return (*Node)(w), err
}

// Close ends the lease of a Node of Keep, which makes no more IDs. For one of NewNode it does nothing.
func (n *Node) Close() { (*worker.Worker)(n).Close() }

// Generate returns a new ID. It waits while no ID is certain to be unique: for the next
// millisecond, and after Keep also for a lease if the store was away for too long, or for a clock
// that stepped back.
//
// It panics where waiting doesn't help: after Close, after the space was retired, after the last
// time that NodeBits and StepBits leave room for, and if the number is the caller's own, in a copy
// of the machine, where another process has it now.
func (n *Node) Generate() ID {
	id, err := (*worker.Worker)(n).Next()
	if err != nil {
		panic(fmt.Sprintf("snowflake: Generate can make no more IDs, and waiting doesn't help: %v", err))
	}
	return ID(id)
}
