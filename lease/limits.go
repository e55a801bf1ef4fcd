package lease

import (
	"fmt"
	"time"

	"github.com/randflake/randflake"
)

// Limits are fixed when a space is created.
type Limits struct {
	FirstNode uint32        // the first node, above 0 only in a part: see Config.Part
	Nodes     uint32        // of the layout, from FirstNode on: 131,072 for Randflake, 1,024 for Snowflake
	Window    time.Duration // whole seconds, 60 by default
	Ahead     int64         // how many windows beyond the present one a process may take, 1 to 32; 5 by default

	// MaxSkew is how far two clocks may be apart, those of processes or servers. By default it is 1 minute.
	MaxSkew time.Duration

	// Reserve is how many nodes each of the 64 slices has that are kept for the minutes after a
	// loss of data: at most (Nodes-1)/64. By default it is 1,024 where there are more than 65,536
	// nodes, and otherwise 0. A part of 2,048 nodes or more has Nodes/128. In these minutes all
	// processes together have Reserve nodes in each window.
	Reserve uint32
}

// maxAhead leaves room in the steps of the taken nodes for as many windows before the present one.
const maxAhead = 32

func (l Limits) check() error {
	most := (max(l.Nodes, 1) - 1) / sliceCount
	switch {
	case l.Nodes < 1 || uint64(l.FirstNode)+uint64(l.Nodes) > randflake.MaxNode+1:
		return fmt.Errorf("%w: %d nodes from node %d on: want 1 or more, up to node %d",
			ErrInvalid, l.Nodes, l.FirstNode, randflake.MaxNode)
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

// LastNode returns the last node.
func (l Limits) LastNode() uint32 { return l.FirstNode + l.Nodes - 1 }

// Overlaps reports whether two spaces have a node in common.
func (l Limits) Overlaps(m Limits) bool {
	return l.FirstNode <= m.LastNode() && m.FirstNode <= l.LastNode()
}

// WindowOf returns the window of a time.
func (l Limits) WindowOf(t time.Time) int64 { return t.Unix() / int64(l.Window/time.Second) }

// start returns the first second of a window.
func (l Limits) start(window int64) time.Time {
	return time.Unix(window*int64(l.Window/time.Second), 0).UTC()
}

// storedLimits are limits as a store has them.
type storedLimits struct {
	First   uint32 `json:"first,omitempty"`
	Nodes   uint32 `json:"nodes"`
	Window  uint32 `json:"window"` // seconds
	Ahead   int64  `json:"windowsAhead"`
	MaxSkew uint32 `json:"maxSkew"`    // seconds
	Reserve uint32 `json:"sliceNodes"` // of each slice
}

func (l Limits) stored() storedLimits {
	return storedLimits{
		First:   l.FirstNode,
		Nodes:   l.Nodes,
		Window:  uint32(l.Window / time.Second),
		Ahead:   l.Ahead,
		MaxSkew: uint32(l.MaxSkew / time.Second),
		Reserve: l.Reserve,
	}
}

func (s storedLimits) limits() Limits {
	return Limits{
		FirstNode: s.First,
		Nodes:     s.Nodes,
		Window:    time.Duration(s.Window) * time.Second,
		Ahead:     s.Ahead,
		MaxSkew:   time.Duration(s.MaxSkew) * time.Second,
		Reserve:   s.Reserve,
	}
}
