package lease

import (
	"time"

	"github.com/randflake/randflake/lease/internal/taken"
)

// The reserve makes IDs go on after a loss of data, while no main node is leased for a window before the floor.
//
// The last 64 x Reserve nodes of a space are 64 slices. Time is cut into ticks, and a loss belongs to the tick
// in which it was noted. Before the floor all leases come from one slice, that of number tick mod 64. It opens
// when the tick is over by every clock, and it serves the windows of 64 ticks:
//
//	tick k        k+1                                                 k+64
//	|      x      |---- MaxSkew ----|                     |            |
//	     noted                    opens                 floor
//	[--------------- windows that slice k mod 64 serves ---------------)
//	   Begin [------------ of which are leased ------------)
//
// Begin is 0, unless an earlier space may have leased from the slice.
//
// So two losses never share a second of a node:
//
//   - If both are noted in one tick, nothing was leased from its slice by then: it opens when the
//     tick is over by every clock. That is so even if the second loss brings back a copy of the data
//     that is older than the first one.
//   - If they are noted in two ticks, these have two slices, or are at least 64 ticks apart, and then
//     no window is served for both.

// sliceCount is how many slices there are.
const sliceCount = 64

// tickSeconds returns how many seconds a tick has: the fewest with
//
//	63 ticks >= MaxSkew + (Ahead+2) windows
//
// so that the slice of tick k serves all windows before the floor. The floor is at most MaxSkew and
// Ahead+1 windows after the loss is noted, which is before k+1. From k+1 to k+64 are 63 ticks, but
// the window in which k+64 begins is not served.
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

// sliceOpens returns when the slice of a tick opens: when the tick is over by every clock.
func (l Limits) sliceOpens(tick int64) time.Time { return l.tickStart(tick + 1).Add(l.MaxSkew) }

// servedWindows returns the windows that the slice of a tick serves: from first on, and before end.
func (l Limits) servedWindows(tick int64) (first, end int64) {
	return l.WindowOf(l.tickStart(tick)), l.WindowOf(l.tickStart(tick + sliceCount))
}

// chooseSlice sets the tick of a loss that is noted at a time. From then on all windows before the
// floor are leased from the slice of that tick. A second loss of the tick begins its slice once more:
// nothing is granted from a slice before its tick is over.
func (m *meta) chooseSlice(noted time.Time, nodes *taken.Nodes) {
	m.Tick = m.tickOf(noted)
	nodes.Restart(m.Floor, m.sliceStart(m.Tick))
}

// leasingResumes returns from when on the reserve serves the present window, or will serve one. That may be
// in the past. The zero time means that no window from now on is served.
func (m *meta) leasingResumes(now time.Time) time.Time {
	if m.Tick == 0 {
		return time.Time{} // no slice is open
	}
	opens := m.sliceOpens(m.Tick)
	begin := m.start(m.Begin) // before it an earlier space may have leased from the slice
	if opens.Before(begin) {
		opens = begin
	}
	first := max(m.WindowOf(now), m.WindowOf(opens))
	_, end := m.servedWindows(m.Tick)
	if first >= min(end, m.Floor) {
		return time.Time{}
	}
	return opens
}

// nodesOf returns the nodes [begin, end) that are for leases of a window.
func (m *meta) nodesOf(window int64) (begin, end uint32) {
	noSlice := m.Tick == 0 // then nothing is granted before the floor, and only Info asks for such a window
	if window >= m.Floor || noSlice {
		return 0, m.mainNodes()
	}
	begin = m.sliceStart(m.Tick)
	return begin, begin + m.Reserve
}

// countTaken returns how many nodes of a window are taken.
func (m *meta) countTaken(nodes *taken.Nodes, window int64) uint32 {
	begin, end := m.nodesOf(window)
	return min(max(nodes.At(window), begin), end) - begin
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

// LossPause returns for how long at most programs that are older than two windows make no IDs after a loss of data,
// because the leases that they have ahead end before others are granted: without WithOutage, those of three minutes, or
// of as long as the reserve needs. It is 0 with the default limits of Randflake.
func (l Limits) LossPause() time.Duration {
	resumes := time.Duration(l.tickSeconds())*time.Second + l.MaxSkew // when the reserve opens
	if l.Reserve == 0 {
		resumes = l.MaxSkew + time.Duration(l.Ahead+2)*l.Window // the floor
	}
	planned := max(defaultOutage, l.afterLoss()) + l.Window - 1
	covered := min(planned/l.Window, time.Duration(l.Ahead-1)) * l.Window // whole windows: see plan.New
	return max(resumes-covered, 0)
}
