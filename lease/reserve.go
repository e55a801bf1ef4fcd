package lease

import "time"

// The reserve makes IDs go on after a loss of data, while nothing below the floor may come from the main
// nodes.
//
// The last 64 x Reserve nodes of a space are 64 slices. Time is cut into ticks, and a loss belongs to the
// tick in which it was noted. Up to the floor, leases then come from the slice of that tick alone, which is
// number tick mod 64, and not before the tick is over by every clock.
//
// Two losses never share a second of a node. Nothing is granted from the slice of a tick before that tick is
// over by every clock, so a later loss is noted in a later tick, even if it brings back a copy of the data
// that is older than the first loss. Two ticks with one slice are at least 64 ticks apart, and each serves
// only windows from its own up to those of the 64th tick after it.

// sliceCount is how many slices there are.
const sliceCount = 64

// tick returns how many seconds a tick has. 63 ticks are long enough that the floor lies before the 64th.
func (l Limits) tick() int64 {
	const most = sliceCount - 1
	needed := int64((l.MaxSkew + time.Duration(l.Ahead+2)*l.Window) / time.Second)
	return (needed + most - 1) / most
}

// tickOf returns the tick of a time.
func (l Limits) tickOf(t time.Time) int64 { return t.Unix() / l.tick() }

// tickStart returns the first second of a tick.
func (l Limits) tickStart(tick int64) time.Time { return time.Unix(tick*l.tick(), 0).UTC() }

// mainNodes returns how many nodes are leased while no data was lost. The slices follow them.
func (l Limits) mainNodes() uint32 { return l.Nodes - sliceCount*l.Reserve }

// slice returns the first node of the slice of a tick.
func (l Limits) slice(tick int64) uint32 {
	return l.mainNodes() + uint32(tick%sliceCount)*l.Reserve
}

// opens returns when the slice of a tick may be used: when the tick is over by every clock.
func (l Limits) opens(tick int64) time.Time { return l.tickStart(tick + 1).Add(l.MaxSkew) }

// served returns the windows that the slice of a tick serves: from first on, and before end.
func (l Limits) served(tick int64) (first, end int64) {
	return l.WindowOf(l.tickStart(tick)), l.WindowOf(l.tickStart(tick + sliceCount))
}

// afterLoss returns for how long a process needs leases so that it goes on without a gap after a loss of
// data, whenever in its windows that is noted.
func (l Limits) afterLoss() time.Duration {
	if l.Reserve == 0 {
		return 0
	}
	return time.Duration(l.tick())*time.Second + l.MaxSkew + l.Window
}
