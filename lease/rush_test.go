package lease

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake"
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
		if err := space.ReportLoss(t.Context(), "by hand"); err != nil {
			t.Fatal(err)
		}
	}
	c.calls.Store(0)
	began := time.Now()
	var all sync.WaitGroup
	for range c.size {
		all.Go(func() {
			q := new(queue)
			begin := func(l randflake.Lease) (*queue, error) { return q, q.Add(l) }
			keeper, err := KeepFor(t.Context(), open(t, engine, nil), begin, quiet, WithWait(2*time.Minute))
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

// live returns how many calls each keeper makes in a minute, in twenty minutes after the first ten.
func (c *rush) live() float64 {
	time.Sleep(10 * time.Minute)
	before := c.calls.Load()
	time.Sleep(20 * time.Minute)
	return float64(c.calls.Load()-before) / float64(c.size) / 20
}

// outlive returns how long after an outage of seven minutes the last keeper has a lease.
func (c *rush) outlive(t *testing.T) time.Duration {
	c.away.Store(true)
	time.Sleep(7 * time.Minute)
	for _, q := range c.queues {
		if q.has(time.Now()) {
			t.Error("a lease is left after seven minutes")
		}
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
// the store was away for longer than their leases.
func TestRush(t *testing.T) {
	for _, tt := range []struct {
		size   int
		delay  time.Duration
		limits Limits
		lost   bool
		soon   time.Duration
		start  float64       // calls each
		peace  float64       // calls each and minute
		again  time.Duration // after an outage; 0 if there is none
	}{
		{size: 1, delay: 30 * time.Millisecond, soon: time.Second, start: 3, peace: 1.1, again: 5 * time.Second},
		{size: 100, delay: 30 * time.Millisecond, soon: 30 * time.Second, start: 20, peace: 1.1},
		{size: 1000, delay: 5 * time.Millisecond, soon: 20 * time.Second, start: 30, peace: 1.1, again: 20 * time.Second},
		{size: 1000, delay: 30 * time.Millisecond, soon: 75 * time.Second, start: 50, peace: 1.5, again: 75 * time.Second},
		{size: 2000, delay: 30 * time.Millisecond, soon: 3 * time.Minute, start: 100, peace: 3},
		{size: 20, delay: 30 * time.Millisecond, limits: Limits{Window: 10 * time.Second, Ahead: 20}, soon: time.Minute, start: 20, peace: 6.6},
		{size: 300, delay: 30 * time.Millisecond, lost: true, soon: 110 * time.Second, start: 50, peace: 1.2},
		{size: 1000, delay: 30 * time.Millisecond, lost: true, soon: 160 * time.Second, start: 100, peace: 1.5},
	} {
		if testing.Short() && tt.size > 300 { // a thousand are too many for the race detector
			continue
		}
		bubble(t, func(t *testing.T) {
			c := rush{size: tt.size, delay: tt.delay, limits: tt.limits, lost: tt.lost}
			defer c.close()
			start := c.start(t)
			peace := c.live()
			t.Logf("%d keepers, %v a call, lost %v: leases within %v by %.1f calls each, then %.2f calls each and minute", tt.size, tt.delay, tt.lost, c.last, start, peace)
			if c.last > tt.soon || start > tt.start || peace > tt.peace {
				t.Errorf("want %v, %v calls and %v", tt.soon, tt.start, tt.peace)
			}
			if tt.again == 0 {
				return
			}
			if again := c.outlive(t); again > tt.again {
				t.Errorf("%d keepers, %v a call: leases %v after an outage, want %v", tt.size, tt.delay, again, tt.again)
			}
		})
	}
}
