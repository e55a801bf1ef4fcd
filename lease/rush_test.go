package lease

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// A rush is keepers that start at the same moment, on a store that takes its time for each call.
type rush struct {
	size   int
	delay  time.Duration
	limits Limits
	lost   bool // data was lost just before
	calls  atomic.Int64
	away   atomic.Bool // the store is

	mu      sync.Mutex
	keepers []*Keeper[*queue]
	queues  []*queue
	last    time.Duration // until the last one had a lease
}

func (c *rush) call(data *memory) func(context.Context, call) (Answer, error) {
	return func(_ context.Context, question call) (Answer, error) {
		c.calls.Add(1)
		time.Sleep(c.delay / 2)
		if c.away.Load() {
			return Answer{}, errAway
		}
		answer := data.do(question)
		time.Sleep(c.delay / 2)
		return answer, nil
	}
}

// start starts the keepers, and returns how many calls each of them made.
func (c *rush) start(t *testing.T) float64 {
	data := newMemory()
	engine := conn{data, c.call(data)}
	space := create(t, engine, c.limits, nil)
	if c.lost {
		require.NoError(t, space.ReportLoss(t.Context(), "by hand"))
	}
	c.calls.Store(0)
	began := time.Now()
	var all sync.WaitGroup
	for range c.size {
		all.Go(func() {
			q := new(queue)
			keeper, err := q.keep(t, open(t, engine, nil), WithWait(2*time.Minute))
			if err != nil {
				t.Error(err)
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.keepers = append(c.keepers, keeper)
			c.queues = append(c.queues, q)
			c.last = max(c.last, time.Since(began))
		})
	}
	all.Wait()
	return float64(c.calls.Load()) / float64(c.size)
}

// live returns how many calls each keeper makes in a minute, in ten minutes after the first five.
func (c *rush) live() float64 {
	time.Sleep(5 * time.Minute)
	before := c.calls.Load()
	time.Sleep(10 * time.Minute)
	return float64(c.calls.Load()-before) / float64(c.size) / 10
}

// outlive returns how long after an outage of seven minutes the last keeper has a lease.
func (c *rush) outlive(t *testing.T) time.Duration {
	c.away.Store(true)
	time.Sleep(7 * time.Minute)
	for _, q := range c.queues {
		require.That(t, !q.has(time.Now()), "a lease is left after seven minutes")
	}
	c.away.Store(false)
	back := time.Now()
	for _, q := range c.queues {
		for !q.has(time.Now()) && time.Since(back) < time.Hour {
			time.Sleep(100 * time.Millisecond)
		}
	}
	return time.Since(back)
}

func (c *rush) close() {
	for _, keeper := range c.keepers {
		keeper.Close()
	}
}

// TestRush: all that start at once have leases soon, nobody gives up, and then they make few calls. So they do when
// the store was away for longer than their leases. make explore has the largest rushes, too.
func TestRush(t *testing.T) {
	const usual = 30 * time.Millisecond
	shortWindows := Limits{Window: 10 * time.Second, Ahead: 20}
	for _, tt := range []struct {
		size   int
		delay  time.Duration // of a call
		limits Limits
		lost   bool
		soon   time.Duration
		start  float64       // calls each
		peace  float64       // calls each and minute
		again  time.Duration // after an outage; 0 if there is none
		large  bool          // for make explore alone
	}{
		{size: 1, delay: usual, soon: time.Second, start: 3, peace: 1.1, again: 5 * time.Second},
		{size: 100, delay: usual, soon: 30 * time.Second, start: 20, peace: 1.1, again: 30 * time.Second},
		{size: 1000, delay: usual, soon: 75 * time.Second, start: 50, peace: 1.5},
		{size: 20, delay: usual, limits: shortWindows, soon: time.Minute, start: 20, peace: 6.6},
		{size: 300, delay: usual, lost: true, soon: 110 * time.Second, start: 50, peace: 1.2},
		{size: 1000, delay: 5 * time.Millisecond, soon: 20 * time.Second, start: 30, peace: 1.1, again: 20 * time.Second, large: true},
		{size: 1000, delay: usual, soon: 75 * time.Second, start: 50, peace: 1.5, again: 75 * time.Second, large: true},
		{size: 2000, delay: usual, soon: 3 * time.Minute, start: 100, peace: 3, large: true},
		{size: 1000, delay: usual, lost: true, soon: 160 * time.Second, start: 100, peace: 1.5, large: true},
	} {
		if tt.large && *explore == 0 {
			continue
		}
		if testing.Short() && tt.size > 300 { // a thousand are too many for the race detector
			continue
		}
		bubble(t, func(t *testing.T) {
			c := rush{size: tt.size, delay: tt.delay, limits: tt.limits, lost: tt.lost}
			defer c.close()
			start := c.start(t)
			peace := c.live()
			t.Logf("%d keepers, %v a call, lost %v: leases within %v by %.1f calls each, then %.2f calls each and minute",
				tt.size, tt.delay, tt.lost, c.last, start, peace)
			require.That(t, c.last <= tt.soon && start <= tt.start && peace <= tt.peace,
				"want %v, %v calls and %v", tt.soon, tt.start, tt.peace)
			if tt.again == 0 {
				return
			}
			again := c.outlive(t)
			require.That(t, again <= tt.again, "leases %v after an outage, want %v", again, tt.again)
		})
	}
}
