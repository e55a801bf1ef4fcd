package lease

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"github.com/randflake/randflake"
)

// Limits are fixed when a space is created.
type Limits struct {
	First  uint32        // the first node, above 0 only in a part: see Config.Part
	Nodes  uint32        // of the layout, from First on: 131,072 for Randflake, 1,024 for Snowflake
	Window time.Duration // whole seconds, 60 by default
	Ahead  int64         // how many windows beyond the present one a process may take, 1 to 32; 5 by default

	// MaxSkew is how far two clocks may be apart, those of processes or servers. By default it is 1
	// minute.
	MaxSkew time.Duration

	// Reserve is how many nodes each of the 64 slices has that are kept for the minutes after a
	// loss of data: at most (Nodes-1)/64. By default it is 1,024 where there are more than 65,536
	// nodes, and otherwise 0. A part of 2,048 nodes or more has Nodes/128. In these minutes all
	// processes together have as many nodes in each window.
	Reserve uint32
}

// maxAhead leaves room in the steps of the taken nodes for as many windows before the present one.
const maxAhead = 32

// defaultReserve is that of a space with more nodes than the slices have together.
const defaultReserve = 1024

// limits returns those of a new space, with defaults for zero values.
func (c Config) limits() (Limits, error) {
	l := Limits{
		First:   c.Limits.First,
		Nodes:   cmp.Or(c.Limits.Nodes, randflake.MaxNode+1-c.Limits.First),
		Window:  cmp.Or(c.Limits.Window, time.Minute),
		Ahead:   cmp.Or(c.Limits.Ahead, 5),
		MaxSkew: cmp.Or(c.Limits.MaxSkew, time.Minute),
		Reserve: c.Limits.Reserve,
	}
	if c.NoReserve && l.Reserve > 0 {
		return l, fmt.Errorf("%w: a reserve of %d and NoReserve: want one of them", ErrInvalid, l.Reserve)
	}
	isPart := c.Part || l.First > 0
	switch {
	case l.Reserve > 0 || c.NoReserve: // somebody has said so
	case isPart && l.Nodes >= 2048: // fewer can't spare half of them
		l.Reserve = l.Nodes / 2 / sliceCount
	case !isPart && l.Nodes > sliceCount*defaultReserve:
		l.Reserve = defaultReserve
	}
	return l, l.check()
}

func (l Limits) check() error {
	most := (max(l.Nodes, 1) - 1) / sliceCount
	switch {
	case l.Nodes < 1 || uint64(l.First)+uint64(l.Nodes) > randflake.MaxNode+1:
		return fmt.Errorf("%w: %d nodes from node %d on: want 1 or more, up to node %d",
			ErrInvalid, l.Nodes, l.First, randflake.MaxNode)
	case !wholeSeconds(l.Window):
		return fmt.Errorf("%w: window of %v: want whole seconds, 1s to 24h", ErrInvalid, l.Window)
	case l.Ahead < 1 || l.Ahead > maxAhead:
		return fmt.Errorf("%w: %d windows ahead: want 1 to %d", ErrInvalid, l.Ahead, maxAhead)
	case !wholeSeconds(l.MaxSkew):
		return fmt.Errorf("%w: max skew of %v: want whole seconds, 1s to 24h", ErrInvalid, l.MaxSkew)
	case l.Reserve > most:
		return fmt.Errorf("%w: a reserve of %d: want at most %d, since %d times as many of the %d nodes are kept",
			ErrInvalid, l.Reserve, most, sliceCount, l.Nodes)
	}
	return nil
}

// wholeSeconds reports whether d is a whole number of seconds, from one to a day.
func wholeSeconds(d time.Duration) bool {
	return d >= time.Second && d <= 24*time.Hour && d%time.Second == 0
}

// Last returns the last node.
func (l Limits) Last() uint32 { return l.First + l.Nodes - 1 }

// Overlaps reports whether two spaces have a node in common.
func (l Limits) Overlaps(m Limits) bool { return l.First <= m.Last() && m.First <= l.Last() }

// WindowOf returns the window of a time.
func (l Limits) WindowOf(t time.Time) int64 { return t.Unix() / int64(l.Window/time.Second) }

// start returns the first second of a window.
func (l Limits) start(window int64) time.Time {
	return time.Unix(window*int64(l.Window/time.Second), 0).UTC()
}

// A Config says which space it is, and for Create what it is like. The zero value is the space
// "default", for any IDs.
type Config struct {
	Name   string           // 1 to 40 bytes of a-z, 0-9, "-", "_" and "."; "default" if empty
	Clock  func() time.Time // the process's; nil for the system's
	Limits Limits           // for Create: a zero value stands for the default

	// Check is for Create: the check value of the secret of the IDs. Other secrets are refused.
	// Zero for none.
	Check [8]byte

	// Trust is for Create and Move: it makes the promise of [Space.SetTrust] for the store of the
	// new space.
	Trust bool

	// NoReserve makes a space without a reserve, where Limits would have one by default.
	NoReserve bool

	// Part is for Create: the space has a part of the nodes of its secret or layout, from
	// Limits.First on, and spaces in other stores have others. A First above 0 says the same.
	Part bool

	// New says that nothing was ever leased for these IDs, so that leases begin at once. Otherwise
	// no lease begins until all leases of an earlier space have ended. Create needs the limits of
	// that space to know when.
	New bool
}

const longestSpace = 40 // bytes of a name

var spaceName = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9._-]{1,%d}$`, longestSpace))
