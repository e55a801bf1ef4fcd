package lease

import "time"

// The reserve makes IDs go on after a loss of data, while no main node is leased for a window
// before the floor.
//
// The last 64 x Reserve nodes of a space are 64 slices. Time is cut into ticks, and a loss belongs
// to the tick in which it was noted. Before the floor all leases come from one slice, that of
// number tick mod 64. It opens when the tick is over by every clock, and it serves the windows of
// 64 ticks:
//
//	tick k        k+1                                                 k+64
//	|      x      |---- MaxSkew ----|                     |            |
//	     noted                    opens                 floor
//	[--------------- windows that slice k mod 64 serves ---------------)
//
// So two losses never share a second of a node. If something was leased from the slice of the first
// one, then its tick was over by every clock, and the second one is noted in a later tick. That is
// so even if the second one brings back a copy of the data that is older than the first one. Two
// ticks with one slice are at least 64 ticks apart, and no window is served by both.

// sliceCount is how many slices there are.
const sliceCount = 64

// tickSeconds returns how many seconds a tick has. The slice of tick k must serve all windows
// before the floor. The floor is at most MaxSkew and Ahead+1 windows after the loss is noted, and
// the loss is noted before k+1. From k+1 to k+64 are 63 ticks, but the window in which k+64 begins
// is not served. So 63 ticks must be as long as MaxSkew and Ahead+2 windows.
func (l Limits) tickSeconds() int64 {
	const ticks = sliceCount - 1
	seconds := int64((l.MaxSkew + time.Duration(l.Ahead+2)*l.Window) / time.Second)
	return (seconds + ticks - 1) / ticks // rounded up
}

// tickOf returns the tick of a time.
func (l Limits) tickOf(t time.Time) int64 { return t.Unix() / l.tickSeconds() }

// tickStart returns the first second of a tick.
func (l Limits) tickStart(tick int64) time.Time { return time.Unix(tick*l.tickSeconds(), 0).UTC() }

// mainNodes returns how many main nodes there are: the nodes before the slices.
func (l Limits) mainNodes() uint32 { return l.Nodes - sliceCount*l.Reserve }

// sliceStart returns the first node of the slice of a tick.
func (l Limits) sliceStart(tick int64) uint32 {
	return l.mainNodes() + uint32(tick%sliceCount)*l.Reserve
}

// opens returns when the slice of a tick opens: when the tick is over by every clock.
func (l Limits) opens(tick int64) time.Time { return l.tickStart(tick + 1).Add(l.MaxSkew) }

// servedWindows returns the windows that the slice of a tick serves: from first on, and before end.
func (l Limits) servedWindows(tick int64) (first, end int64) {
	return l.WindowOf(l.tickStart(tick)), l.WindowOf(l.tickStart(tick + sliceCount))
}

// afterLoss returns for how long a process must have leases, so that it goes on without a gap after
// a loss of data. A slice opens at most a tick and MaxSkew after the loss is noted. Leases end with
// windows, so a window more is needed, at whatever moment of a window that is.
func (l Limits) afterLoss() time.Duration {
	if l.Reserve == 0 {
		return 0
	}
	return time.Duration(l.tickSeconds())*time.Second + l.MaxSkew + l.Window
}
