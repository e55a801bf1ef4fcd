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

	mu      sync.Mutex
	keepers []*Keeper[*queue]
	last    time.Duration // until the last one had a lease
}

func (c *rush) call(data *memory) func(context.Context, call) (Answer, error) {
	return func(_ context.Context, question call) (Answer, error) {
		c.calls.Add(1)
		time.Sleep(c.delay / 2)
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
			c.last = max(c.last, time.Since(began))
		})
	}
	all.Wait()
	return float64(c.calls.Load()) / float64(c.size)
}

// live returns how many calls each keeper makes in a minute, in the hour after the first ten minutes.
func (c *rush) live() float64 {
	time.Sleep(10 * time.Minute)
	before := c.calls.Load()
	time.Sleep(time.Hour)
	return float64(c.calls.Load()-before) / float64(c.size) / 60
}

func (c *rush) close() {
	for _, keeper := range c.keepers {
		keeper.Close()
	}
}

// TestRush: all that start at once have leases soon, nobody gives up, and then they make few calls.
func TestRush(t *testing.T) {
	for _, tt := range []struct {
		size   int
		delay  time.Duration
		limits Limits
		lost   bool
		soon   time.Duration
		start  float64 // calls each
		peace  float64 // calls each and minute
	}{
		{size: 1, delay: 30 * time.Millisecond, soon: time.Second, start: 3, peace: 1.1},
		{size: 100, delay: 30 * time.Millisecond, soon: 30 * time.Second, start: 20, peace: 1.1},
		{size: 1000, delay: 5 * time.Millisecond, soon: 20 * time.Second, start: 30, peace: 1.1},
		{size: 1000, delay: 30 * time.Millisecond, soon: 75 * time.Second, start: 50, peace: 1.5},
		{size: 2000, delay: 30 * time.Millisecond, soon: 3 * time.Minute, start: 100, peace: 3},
		{size: 20, delay: 30 * time.Millisecond, limits: Limits{Window: 10 * time.Second, Ahead: 20}, soon: time.Minute, start: 20, peace: 6.6},
		{size: 300, delay: 30 * time.Millisecond, lost: true, soon: 110 * time.Second, start: 50, peace: 1.2},
		{size: 1000, delay: 30 * time.Millisecond, lost: true, soon: 160 * time.Second, start: 100, peace: 1.5},
	} {
		bubble(t, func(t *testing.T) {
			c := rush{size: tt.size, delay: tt.delay, limits: tt.limits, lost: tt.lost}
			defer c.close()
			start := c.start(t)
			peace := c.live()
			t.Logf("%d keepers, %v a call, lost %v: leases within %v by %.1f calls each, then %.2f calls each and minute", tt.size, tt.delay, tt.lost, c.last, start, peace)
			if c.last > tt.soon || start > tt.start || peace > tt.peace {
				t.Errorf("want %v, %v calls and %v", tt.soon, tt.start, tt.peace)
			}
		})
	}
}
