package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
)

// longestOutage returns the longest time without an ID in the next while.
func (q *queue) longestOutage(d time.Duration) (longest time.Duration) {
	const step = 100 * time.Millisecond
	last := time.Now()
	for end := last.Add(d); time.Now().Before(end); time.Sleep(step) {
		if now := time.Now(); q.has(now) {
			longest = max(longest, now.Sub(last)-step)
			last = now
		}
	}
	return max(longest, time.Since(last)-step)
}

// A lossCase is what happens to a process whose store loses data.
type lossCase struct {
	name   string
	limits Limits
	age    time.Duration // when data is lost; negative for a process that starts after that
	away   time.Duration // for how long the store is away before that, from age on
	trust  bool          // no data is lost, but its trust changes
	also   time.Duration // when it is lost once more
	most   time.Duration // without an ID
}

// TestReserve: after a loss of data a process that has lived a window and a half goes on without a gap, and
// others have IDs as soon as the reserve opens. The process starts at any second of a window.
func TestReserve(t *testing.T) {
	for _, c := range []lossCase{
		{name: "new", age: -time.Second, most: reserveWait},
		{name: "young", age: 20 * time.Second, most: reserveWait},
		{name: "a window and a half", age: 90 * time.Second},
		{name: "old", age: 5 * time.Minute},
		{name: "twice", age: 5 * time.Minute, also: 30 * time.Second},
		{name: "young and twice", age: 20 * time.Second, also: 30 * time.Second, most: reserveWait + 30*time.Second},
		{name: "trust", age: 90 * time.Second, trust: true},
		{name: "after a failover", age: 90 * time.Second, away: 80 * time.Second},
		{name: "after a failover, old", age: 5 * time.Minute, away: 80 * time.Second},
		{name: "windows that are too short", limits: Limits{Window: 10 * time.Second}, age: 5 * time.Minute, most: 23 * time.Second},
		{name: "short windows", limits: Limits{Window: 10 * time.Second, Ahead: 20}, age: 5 * time.Minute},
		{name: "no reserve", limits: Limits{Nodes: 1024}, age: 5 * time.Minute, most: 4 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			step := 3
			switch {
			case *explore > 0:
				step = 1
			case testing.Short():
				step = 20
			}
			for second := rand.IntN(step); second < 60; second += step {
				bubble(t, func(t *testing.T) {
					time.Sleep(time.Duration(second) * time.Second)
					gap := c.play(t, second%2 == 1)
					isShort := gap <= 0 || c.most > 0 && gap <= c.most+2*time.Second
					require.That(t, isShort, "from second %d on: no ID for %v, want at most %v", second, gap, c.most)
				})
			}
		})
	}
}

const reserveWait = 68 * time.Second // until the reserve opens: a tick of 8 s, and MaxSkew

// play returns the longest time without an ID from the first one on. The store hangs or fails while it is away.
func (c lossCase) play(t *testing.T, hangs bool) (longest time.Duration) {
	data := newMemory()
	data.incarnation = "first"
	var away atomic.Bool
	engine := conn{data, func(ctx context.Context, call call) (Answer, error) {
		if !away.Load() {
			return data.do(call), nil
		}
		if hangs {
			<-ctx.Done()
		}
		return Answer{}, errAway
	}}
	space := create(t, engine, c.limits, nil)
	if c.age < 0 {
		data.replace("second")
		space.Take(t.Context(), 1, 1, 1) // notes it
		time.Sleep(-c.age)
	}

	var q queue
	began := time.Now()
	keeper, err := q.keep(t, space)
	for err != nil && time.Since(began) < 2*time.Minute {
		time.Sleep(100 * time.Millisecond)
		keeper, err = q.keep(t, space)
	}
	require.NoError(t, err)
	defer keeper.Close()
	waited := time.Since(began)
	require.That(t, waited <= reserveWait+time.Second, "waited %v for the first ID", waited)

	if c.age > 0 {
		time.Sleep(c.age)
		away.Store(true)
		longest = q.longestOutage(c.away)
		away.Store(false)
	}
	switch {
	case c.trust:
		require.NoError(t, open(t, engine, nil).SetTrust(t.Context(), true))
	case c.age > 0:
		data.replace("second")
	}
	if c.also > 0 {
		longest = max(longest, q.longestOutage(c.also))
		data.replace("third")
	}
	return max(longest, q.longestOutage(10*time.Minute))
}

// TestReserveSize: after a loss of data processes go on without a gap if the reserve has nodes for them all. If
// not, some stop when their leases end, and all go on at the floor.
func TestReserveSize(t *testing.T) {
	const processes = 3
	for reserve := range uint32(processes + 1) {
		bubble(t, func(t *testing.T) {
			data := newMemory()
			space := create(t, conn{memory: data}, Limits{Nodes: 1024, Reserve: reserve}, nil)
			var queues [processes]queue
			for i := range queues {
				keeper, err := queues[i].keep(t, space)
				require.NoError(t, err)
				defer keeper.Close()
			}
			time.Sleep(5 * time.Minute)
			data.replace("second")

			floor := time.Now().Add(8 * time.Minute) // and the time to take a lease
			fewest := processes
			for time.Now().Before(floor) {
				now := time.Now()
				with := 0
				for i := range queues {
					if queues[i].has(now) {
						with++
					}
				}
				fewest = min(fewest, with)
				time.Sleep(100 * time.Millisecond)
			}
			require.Equal(t, fewest, int(reserve), "a reserve of %d: the fewest processes with IDs", reserve)
			for i := range queues {
				require.That(t, queues[i].has(time.Now()),
					"a reserve of %d: process %d has no IDs after the floor", reserve, i)
			}
		})
	}
}

// TestOpens: Info and errors say when the present window begins to be leased from the reserve, and takes find it so.
func TestOpens(t *testing.T) {
	for _, tt := range []struct {
		what  string
		isNew bool          // if not, earlier leases may be in use for seven minutes
		fast  time.Duration // how fast the clock of a process is that reports a loss at once
		lost  time.Duration // when another process reports one
		opens time.Duration // zero if never
	}{
		{"a new space", true, 0, 30 * time.Second, 92 * time.Second},
		{"made for IDs in use, at once", false, 0, 0, 0},
		{"made for IDs in use, soon", false, 0, 59 * time.Second, 0},
		{"made for IDs in use, later", false, 0, 5 * time.Minute, 7 * time.Minute},
		{"made for IDs in use, just before the floor", false, 0, 6*time.Minute + 50*time.Second, 7*time.Minute + 56*time.Second},
		{"made for IDs in use, after the floor", false, 0, 8 * time.Minute, 9*time.Minute + 8*time.Second},
		{"a floor that is far away", true, time.Hour, 21 * time.Second, 84 * time.Second},
		{"a floor that is far away, for IDs in use", false, time.Hour, 21 * time.Second, 7 * time.Minute},
	} {
		now := noon
		s := createAs(t, conn{memory: newMemory()}, Config{NeverUsed: tt.isNew, Clock: at(&now)})
		for _, at := range []time.Duration{tt.fast, tt.lost} {
			now = noon.Add(at)
			require.NoError(t, s.ReportLoss(t.Context(), "by hand"))
		}
		want := time.Time{}
		if tt.opens > 0 {
			want = noon.Add(tt.opens)
		}
		info := infoOf(t, s)
		require.That(t, info.ReserveOpens.Equal(want), "%s: opens %v, want %v", tt.what, info.ReserveOpens, want)
		for end := now.Add(15 * time.Minute); now.Before(end); now = now.Add(time.Second) {
			info := infoOf(t, s)
			until := info.Floor
			if !info.ReserveOpens.IsZero() {
				until = info.ReserveOpens
			}
			l, err := takeWindow(t.Context(), s, s.Limits().WindowOf(now), 1)
			wait, refused := errors.AsType[*WaitError](err)
			fromReserve := l.FirstNode >= info.MainNodes
			switch {
			case refused != now.Before(until) || refused && !wait.Until.Equal(until):
				t.Fatalf("%s: at %v: %+v, %v, want leases from %v on", tt.what, now.Sub(noon), l, err, until.Sub(noon))
			case !refused && fromReserve != now.Before(info.Floor):
				t.Fatalf("%s: at %v: %+v, want one of the reserve until the floor", tt.what, now.Sub(noon), l)
			}
		}
	}
}

// TestTick: 63 ticks are as long as MaxSkew and Ahead+2 windows, and a second less would not do.
func TestTick(t *testing.T) {
	for skew := range int64(200) {
		l := Limits{Window: time.Second, Ahead: 1, MaxSkew: time.Duration(skew) * time.Second}
		tick, least := l.tickSeconds(), skew+3
		require.That(t, 63*tick >= least && 63*(tick-1) < least,
			"a tick of %d seconds, want 63 of at least %d", tick, least)
	}
}

// TestUntilOpen has how long after a loss is noted a slice opens: by a clock that is behind, later by as much.
func TestUntilOpen(t *testing.T) {
	for skew, want := range map[time.Duration][2]time.Duration{
		time.Minute:     {61 * time.Second, 68 * time.Second},
		5 * time.Second: {6 * time.Second, 12 * time.Second},
	} {
		shortest, longest := time.Hour, time.Duration(0)
		for second := range 16 { // two ticks
			now := noon.Add(time.Duration(second) * time.Second)
			lost := now
			data := newMemory()
			s := create(t, conn{memory: data}, Limits{MaxSkew: skew}, at(&now))
			slow := open(t, conn{memory: data}, func() time.Time { return now.Add(-3 * time.Second) })
			require.NoError(t, s.ReportLoss(t.Context(), "by hand"))
			untilLease := func(s *Space) time.Duration {
				for ; now.Sub(lost) < 2*time.Minute; now = now.Add(time.Second) {
					if _, err := takeWindow(t.Context(), s, s.Limits().WindowOf(now), 1); err == nil {
						break
					}
				}
				return now.Sub(lost)
			}
			opens := untilLease(s)
			shortest = min(shortest, opens)
			longest = max(longest, opens)
			require.Equal(t, untilLease(slow)-opens, 3*time.Second, "by a clock that is 3 s behind it opens later by")
		}
		require.That(t, shortest == want[0] && longest == want[1],
			"clocks differ by %v: opens after %v to %v, want %v", skew, shortest, longest, want)
	}
}

// TestLossesTooOften: where data is lost each minute, no slice opens, and IDs end with the leases. They begin
// again once no data was lost for as long as a slice takes to open.
func TestLossesTooOften(t *testing.T) {
	bubble(t, func(t *testing.T) {
		data := newMemory()
		space := create(t, conn{memory: data}, Limits{}, nil)
		var q queue
		keeper, err := q.keep(t, space)
		require.NoError(t, err)
		defer keeper.Close()
		time.Sleep(5 * time.Minute)
		for loss := range 20 {
			data.replace(fmt.Sprint(loss))
			require.NoError(t, space.ReportLoss(t.Context(), "it is lost again"))
			time.Sleep(time.Minute)
			require.That(t, loss <= 6 || !q.has(time.Now()), "after %d losses there is a lease", loss+1)
		}
		time.Sleep(9 * time.Second)
		require.That(t, q.has(time.Now()), "no IDs 69 s after the last loss")
	})
}

// TestSlice: until the floor leases come from the slice of the tick in which the loss was noted, once that is
// over by every clock, and only for windows from its own up to those of the 64th tick after it.
func TestSlice(t *testing.T) {
	now := noon.Add(time.Hour) // a clock that is fast sets a floor that is far away
	data := newMemory()
	s := create(t, conn{memory: data}, Limits{}, at(&now))
	report := func() {
		require.NoError(t, s.ReportLoss(t.Context(), "by hand"))
	}
	report()
	now = noon.Add(21 * time.Second) // in the tick from 16 to 24 s
	report()

	const first = 65536 + 2*1024 // of the slice, as noon begins a tick with the first one
	present := s.Limits().WindowOf(noon)
	floor := noon.Add(time.Hour + 7*time.Minute)
	opens := noon.Add(24*time.Second + time.Minute)
	for _, tt := range []struct {
		what   string
		at     time.Time
		window int64 // after that of noon
		n      uint32
		first  uint32
		err    error
		until  time.Time
	}{
		{"before it opens", opens.Add(-1), 1, 1, 0, ErrLoss, opens},
		{"when it opens", opens, 1, 1, first, nil, time.Time{}},
		{"once more", opens, 1, 2, first + 1, nil, time.Time{}},
		{"the window of the tick", opens, 0, 1, first, nil, time.Time{}},
		{"the one before", opens, -1, 1, 0, ErrLoss, floor},
		{"more nodes than the slice has", opens, 2, 1025, 0, ErrLoss, floor},
		{"the whole slice", opens, 2, 1024, first, nil, time.Time{}},
		{"nothing is left", opens, 2, 1, 0, ErrFull, noon.Add(3 * time.Minute)},
		{"the last window", noon.Add(5 * time.Minute), 7, 1, first, nil, time.Time{}},
		{"that of the 64th tick", noon.Add(5 * time.Minute), 8, 1, 0, ErrLoss, floor},
		{"the last one before the floor", floor, 66, 1, 0, ErrLoss, floor},
		{"the floor", floor, 67, 1, 0, nil, time.Time{}},
	} {
		now = tt.at
		l, err := takeWindow(t.Context(), s, present+tt.window, tt.n)
		var wait *WaitError
		if !errors.Is(err, tt.err) || errors.As(err, &wait) && !wait.Until.Equal(tt.until) {
			t.Errorf("%s: %v, want %v, until %v", tt.what, err, tt.err, tt.until)
		}
		if err == nil && l.FirstNode != tt.first {
			t.Errorf("%s: %+v, want node %d", tt.what, l, tt.first)
		}
	}
	now = opens // in the window after that of noon
	require.Equal(t, infoOf(t, s).TakenNodes, 3, "nodes taken of the slice")
	data.data["s/leases"] = "1 0 0 0"
	again := open(t, conn{memory: data}, at(&now))
	require.Refuses(t, ErrCorrupt, "a main node is next before the floor")(takeWindow(t.Context(), again, present+1, 1))
}

// TestSliceInUse: a space that was made for IDs in use grants nothing before its first floor, not even from
// the reserve, whatever is lost meanwhile.
func TestSliceInUse(t *testing.T) {
	for what, lose := range map[string]func(data *memory){
		"nothing":  func(*memory) {},
		"all":      func(data *memory) { data.restore(state{data: map[string]string{}, lineage: "second"}) },
		"evidence": func(data *memory) { data.lineage = "second" },
		"all, and it is made anew as a new one": func(data *memory) {
			data.restore(state{data: map[string]string{}, lineage: "second"})
			require.Done(t)(Create(t.Context(), conn{memory: data}, Config{Clock: atNoon, NeverUsed: true}))
		},
	} {
		now := noon
		data := newMemory()
		s := createAs(t, conn{memory: data}, Config{Clock: at(&now)})
		now = noon.Add(5 * time.Minute)
		lose(data)
		require.NoError(t, s.ReportLoss(t.Context(), "by hand"))
		now = noon.Add(6*time.Minute + 8*time.Second)
		present := s.Limits().WindowOf(noon)
		require.Refuses(t, ErrLoss, "%s is lost", what)(takeWindow(t.Context(), s, present+6, 1))
		if l, err := takeWindow(t.Context(), s, present+7, 1); err != nil || l.FirstNode < s.knownMeta().mainNodes() {
			t.Errorf("%s is lost: %+v, %v, want a node of the reserve", what, l, err)
		}
	}
}

// TestLossPause has the limits of docs/leases.md.
func TestLossPause(t *testing.T) {
	for _, tt := range []struct {
		limits Limits
		want   time.Duration
	}{
		{Limits{}, 0},
		{Limits{Window: 10 * time.Second}, 23 * time.Second},
		{Limits{Window: 10 * time.Second, Ahead: 20}, 0},
		{Limits{Window: time.Second}, 58 * time.Second},
		{Limits{MaxSkew: 10 * time.Minute}, 6*time.Minute + 17*time.Second},
		{Limits{Nodes: 1024}, 5 * time.Minute},
		{Limits{Nodes: 1024, Ahead: 10}, 10 * time.Minute},
		{Limits{Nodes: 1024, Ahead: 32, Window: 10 * time.Second}, 220 * time.Second},
	} {
		limits, err := Config{Limits: tt.limits}.limits()
		got := limits.LossPause()
		require.That(t, got == tt.want && err == nil, "%+v: %v, %v, want %v", limits, got, err, tt.want)
	}
}

// TestRegions has the table of docs/leases.md: what each of some regions with equal parts carries. So many processes
// have a lease in each window, and in a window after a loss of data.
func TestRegions(t *testing.T) {
	for _, tt := range []struct {
		regions, nodes uint32
		perSecond      uint64 // IDs
		spared, most   uint32 // processes that a loss spares: by default, and by a larger reserve
	}{
		{2, 65536, 4_294_967_296, 512, 1008},
		{8, 16384, 1_073_741_824, 128, 252},
		{64, 2048, 134_217_728, 16, 31},
	} {
		require.That(t, tt.regions*tt.nodes == randflake.MaxNode+1, "%d parts of %d nodes", tt.regions, tt.nodes)
		for _, region := range []uint32{0, tt.regions - 1} {
			part := Limits{FirstNode: region * tt.nodes, Nodes: tt.nodes}
			usual := checkPart(t, part, tt.spared)
			require.Equal(t, uint64(usual)*(randflake.MaxSequence+1), tt.perSecond, "%d regions: IDs a second", tt.regions)
			part.Reserve = tt.most
			n := checkPart(t, part, tt.most)
			require.That(t, n >= tt.most, "%d regions: %d main nodes beside a reserve of %d", tt.regions, n, tt.most)
			larger := int64(tt.most + 1)
			require.That(t, int64(tt.nodes)-sliceCount*larger < larger,
				"%d regions: a reserve of %d leaves as many main nodes", tt.regions, larger)
		}
	}
}

// checkPart makes a space with a part, and returns how many nodes of a window can be leased. After a loss of data as many
// as the reserve has can be leased, no more, and all of them are of the part.
func checkPart(t *testing.T, part Limits, reserve uint32) (nodes uint32) {
	t.Helper()
	now := noon
	data := newMemory()
	s := createAs(t, conn{memory: data}, Config{Name: "s", Limits: part, Part: true, NeverUsed: true, Clock: at(&now)})
	window := s.Limits().WindowOf(noon)
	nodes = takeAll(t, s, window)
	require.NoError(t, s.ReportLoss(t.Context(), "by hand"))
	now = now.Add(68 * time.Second)
	require.Equal(t, takeAll(t, s, window+1), reserve, "%+v: nodes are leased after a loss", part)
	return nodes
}

// takeAll takes nodes of a window until it is full, and returns how many.
func takeAll(t *testing.T, s *Space, window int64) (nodes uint32) {
	t.Helper()
	limits := s.Limits()
	for n := limits.mainNodes(); n > 0; {
		l, err := takeWindow(t.Context(), s, window, n)
		if err != nil {
			tooMany := errors.Is(err, ErrFull) || errors.Is(err, ErrLoss) // of the window, or of the reserve
			require.Must(t, tooMany, "%+v: take %d nodes: %v", limits, n, err)
			n /= 2
			continue
		}
		nodes += n
		require.That(t, l.FirstNode >= limits.FirstNode && l.LastNode <= limits.LastNode(),
			"%+v: a lease of nodes %d to %d", limits, l.FirstNode, l.LastNode)
	}
	return nodes
}
