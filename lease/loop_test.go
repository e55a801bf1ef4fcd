package lease

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/handover"
	"github.com/randflake/randflake/internal/test/require"
)

// The loops here give leases to a queue of the test; those of keep_test.go to a generator.

// A queue is a generator's. It has an ID for a time that is in one of its leases.
type queue struct {
	mu     sync.Mutex
	leases []randflake.Lease
	unfit  error // what Add returns, if it is not nil
	closes int   // how often it was closed, by a keeper whose goroutine has ended
}

func (q *queue) Add(l randflake.Lease) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.unfit != nil {
		return q.unfit
	}
	if len(q.leases) > 40 {
		q.leases = q.leases[20:]
	}
	q.leases = append(q.leases, l)
	return nil
}

func (q *queue) Drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leases = nil
}

func (q *queue) OnRefusal(func(error, bool)) {}
func (q *queue) Ready() error                { return nil }

// It is a generator, too.
func (q *queue) Lease() randflake.Lease        { return randflake.Lease{} }
func (q *queue) Counts() (made, waited uint64) { return 0, 0 }
func (q *queue) Close() (time.Time, error) {
	q.closes++
	return time.Time{}, nil
}

func (q *queue) Handover(handover.Key) handover.Queue[randflake.Lease] { return q }

func (q *queue) keep(t *testing.T, s Source, options ...Option) (*Keeper[*queue], error) {
	return KeepFor(t.Context(), s, func(l randflake.Lease) (*queue, error) { return q, q.Add(l) }, append([]Option{quiet}, options...)...)
}

func (q *queue) has(t time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.leases {
		if !t.Before(l.Start) && t.Before(l.End) {
			return true
		}
	}
	return false
}

// TestKeeperRefused: one refusal causes a step at once; a thousand refusals cause at most one step a second.
func TestKeeperRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		data := newMemory()
		var q queue
		var clock shifted
		keeper, err := q.keep(t, create(t, conn{memory: data}, Limits{}, clock.now), WithClock(clock.now))
		require.NoError(t, err)
		defer keeper.Close()
		time.Sleep(10 * time.Second)
		clock.Store(int64(time.Hour))
		keeper.refused(randflake.ErrLeaseEnded, false)
		synctest.Wait()
		require.That(t, q.has(clock.now()), "no lease at once")
		calls := data.calls
		for range 1000 {
			keeper.refused(randflake.ErrLeaseEnded, false)
			time.Sleep(10 * time.Millisecond)
		}
		n := data.calls - calls
		require.That(t, n <= 20, "%d calls in ten seconds", n)
	})
}

// TestKeeperWhy: the log and the status say why IDs stop, whenever that was found out.
func TestKeeperWhy(t *testing.T) {
	for why, slow := range map[error]time.Duration{ErrFull: 0, errLate: 7 * time.Minute} {
		bubble(t, func(t *testing.T) {
			data := newMemory()
			var pause atomic.Int64
			space := create(t, conn{data, func(_ context.Context, c call) (Answer, error) {
				if c.put != nil {
					time.Sleep(time.Duration(pause.Load()))
				}
				return data.do(c), nil
			}}, Limits{Nodes: 1}, nil)
			require.Done(t)(takeWindow(t.Context(), space, space.Limits().WindowOf(time.Now())+1, 1))
			var log bytes.Buffer
			keeper, err := new(queue).keep(t, space, WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			require.NoError(t, err)
			pause.Store(int64(slow))
			time.Sleep(time.Minute + 5*slow + time.Second)
			require.ErrorIs(t, keeper.Status().Err, why, "the status")
			require.Contains(t, log.String(), why.Error(), "the log")
			require.Omits(t, log.String(), "<nil>", "the log")
			keeper.Close()
		})
	}
}

// A fleet is the processes of a service, each with a keeper.
type fleet struct {
	*testing.T
	data    *memory
	outage  time.Duration
	keepers []*Keeper[*queue]
	failed  int // starts

	waiting sync.WaitGroup // of processes for their first lease
	mu      sync.Mutex
	waited  int           // how many waited for more than a second
	longest time.Duration // that one of them waited
}

// start starts a process, once more if that fails.
func (f *fleet) start(i int) {
	q, began := new(queue), time.Now()
	k, err := q.keep(f.T, open(f.T, conn{memory: f.data}, nil), WithOutage(f.outage))
	for err != nil {
		f.failed++
		time.Sleep(time.Second)
		k, err = q.keep(f.T, open(f.T, conn{memory: f.data}, nil), WithOutage(f.outage))
	}
	f.keepers[i] = k
	f.waiting.Go(func() { f.await(q, began) })
}

// await waits until a process that began at a time has a lease.
func (f *fleet) await(q *queue, began time.Time) {
	for !q.has(time.Now()) {
		time.Sleep(100 * time.Millisecond)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	waited := time.Since(began)
	if waited > time.Second {
		f.waited++
		f.longest = max(f.longest, waited)
	}
}

// TestRollingRestart: processes restart, in a layout of 1,024 nodes. Those that have ended hold windows.
func TestRollingRestart(t *testing.T) {
	for _, c := range []struct {
		name      string
		processes int
		within    time.Duration
		rounds    int
		outage    time.Duration
		most      time.Duration // that a process waits
	}{
		{"all in a minute", 500, time.Minute, 1, 3 * time.Minute, 0},
		{"all in five minutes", 500, 5 * time.Minute, 1, 3 * time.Minute, 0},
		{"twice, so some wait for the next window", 500, 4 * time.Minute, 2, 3 * time.Minute, time.Minute},
		{"twice, for shorter outages", 480, 4 * time.Minute, 2, 2 * time.Minute, 0}, // of 500 one waits in one of 200 runs
		{"800 restarts in five minutes", 200, 75 * time.Second, 4, 3 * time.Minute, 0},
	} {
		if testing.Short() && c.processes > 200 {
			continue
		}
		bubble(t, func(t *testing.T) {
			f := &fleet{T: t, data: newMemory(), outage: c.outage, keepers: make([]*Keeper[*queue], c.processes)}
			create(t, conn{memory: f.data}, Limits{Nodes: 1024}, nil)
			for i := range f.keepers { // over a while, as for the first time
				f.start(i)
				time.Sleep(200 * time.Millisecond)
			}
			time.Sleep(10*time.Minute + rand.N(time.Minute))
			for range c.rounds {
				for i := range f.keepers {
					f.keepers[i].Close()
					f.start(i)
					time.Sleep(c.within / time.Duration(c.processes))
				}
			}
			f.waiting.Wait()
			for _, k := range f.keepers {
				k.Close()
			}
			require.That(t, f.longest <= c.most, "%s: a process waited %v", c.name, f.longest)
			t.Logf("%s: %d processes in 1,024 nodes, restarted %d times, each within %v: %d waited, %v at most; %d starts failed",
				c.name, c.processes, c.rounds, c.within, f.waited, f.longest, f.failed)
		})
	}
}

// A crew is keepers that are driven by hand, each when its pause is over.
type crew struct {
	now     time.Time
	members []*member
}

type member struct {
	loop  *loop
	queue queue
	due   time.Time
	off   time.Duration
}

// start starts the keeper of m, anew if it had one.
func (c *crew) start(t *testing.T, data *memory, m *member) {
	m.queue = queue{}
	clock := func() time.Time { return c.now.Add(m.off) }
	s, err := newSettings([]Option{quiet, WithClock(clock)})
	require.NoError(t, err)
	m.loop = newLoop(open(t, conn{memory: data}, clock), s)
	m.loop.queue = &m.queue
}

// step lets time pass until the next keeper is due, and drives that.
func (c *crew) step(t *testing.T) *member {
	m := slices.MinFunc(c.members, func(a, b *member) int { return a.due.Compare(b.due) })
	c.now = m.due
	pause := m.loop.step(t.Context())
	err := m.loop.status.Err
	require.Must(t, err == nil, "%v: %v", c.now, err)
	require.Must(t, m.queue.has(c.now.Add(m.off)), "%v: no lease", c.now)
	m.due = c.now.Add(pause)
	return m
}

// TestYear: a year of twelve processes in a layout of 32 nodes. After one step in fifty the process starts
// anew, which is the same as being killed. One process has a clock that is fast by 100 days for a month. All
// have IDs all the time, and the store does not grow.
func TestYear(t *testing.T) {
	days := time.Duration(365)
	if testing.Short() {
		days = 40
	}
	random := rand.New(rand.NewPCG(1, 1))
	data := newMemory()
	c := &crew{now: time.Unix(1800000000, 0)}
	create(t, conn{memory: data}, Limits{Nodes: 32, Window: 4 * time.Hour}, at(&c.now))
	for range 12 {
		m := &member{due: c.now}
		c.start(t, data, m)
		c.members = append(c.members, m)
	}
	wrong := c.members[0]
	began, restarts, dayOne := c.now, 0, 0
	for c.now.Sub(began) < days*24*time.Hour {
		m := c.step(t)
		switch day := int(c.now.Sub(began) / (24 * time.Hour)); {
		case day < 2:
			dayOne = max(dayOne, data.size())
		case day == 2:
			wrong.off = 100 * 24 * time.Hour
		case day == 32:
			wrong.off = 0
		}
		if random.IntN(50) == 0 {
			restarts++
			c.start(t, data, m)
			m.due = c.now
		}
	}
	present := wrong.loop.limits.WindowOf(c.now)
	for _, m := range c.members {
		remembered := 0
		for window := range 2 * present {
			if m.loop.plan.HasOutcome(window) {
				remembered++
			}
		}
		// The present window, five ahead, and one that has just ended, by a right and by a wrong clock.
		require.That(t, remembered <= 14, "a keeper remembers %d windows", remembered)
	}
	t.Logf("%d calls, %d restarts; the store had %d bytes after a day, and has %d", data.calls, restarts, dayOne, data.size())
	require.That(t, data.size() <= 2500 && len(data.data) == 2,
		"the store has %d entries, %d bytes: %v", len(data.data), data.size(), data.data)
}

// TestStep: a step takes all windows that are wanted, also on both sides of one that is leased.
func TestStep(t *testing.T) {
	data := newMemory()
	c := &crew{now: noon}
	create(t, conn{memory: data}, Limits{}, at(&c.now))
	m := new(member)
	c.start(t, data, m)
	c.now = noon.Add(5 * time.Minute) // it has lived a window
	present := m.loop.limits.WindowOf(c.now)
	m.loop.plan.NoteLeased(present + 1)
	m.loop.step(t.Context())
	for window := present; window <= m.loop.plan.LastWanted(c.now); window++ {
		require.That(t, m.loop.plan.IsLeased(window), "window %d after the present one is not leased", window-present)
	}
}

// TestCallsOfKeeper: from these docs/operations.md computes what a bucket costs.
func TestCallsOfKeeper(t *testing.T) {
	bubble(t, func(t *testing.T) {
		data := newMemory()
		var q queue
		keeper, err := q.keep(t, create(t, conn{memory: data}, Limits{}, time.Now), WithClock(time.Now))
		require.NoError(t, err)
		defer keeper.Close()
		after := func(pause time.Duration) (calls, swaps int) {
			time.Sleep(pause)
			synctest.Wait()
			data.mu.Lock()
			defer data.mu.Unlock()
			return data.calls, int(data.position)
		}
		calls, swaps := after(time.Hour)
		moreCalls, moreSwaps := after(10 * time.Hour)
		require.Equal(t, moreCalls-calls, 600, "calls in ten hours")
		require.Equal(t, moreSwaps-swaps, 300, "swaps among them")
	})
}
