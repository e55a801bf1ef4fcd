package etcdtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/store"
)

// counters are entries that many swap at the same time. The value of one is how often it was swapped, and
// who did it last.
type counters struct {
	engine store.Engine
	names  []string

	mu      sync.Mutex
	changed *sync.Cond
	acked   map[string]string // who was told that the swap took effect, by name and value before it
	count   map[string]int    // swaps acknowledged, by name
	unknown map[string]int    // swaps that ended with an error, by name
	total   int
	broken  []error
}

func newCounters(engine store.Engine) *counters {
	c := &counters{engine: engine, names: []string{"a", "b/0", "b/1"}, acked: map[string]string{}, count: map[string]int{}, unknown: map[string]int{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// swap counts until ctx is done.
func (c *counters) swap(ctx context.Context, who int) {
	known := map[string][]byte{}
	for i := 0; ctx.Err() == nil; i++ {
		name := c.names[(who+i)%len(c.names)]
		before := string(known[name])
		n := 0
		fmt.Sscan(before, &n)
		next := fmt.Appendf(nil, "%d by %d.%d", n+1, who, i)
		answer, err := c.engine.Swap(ctx, []store.Entry{{Name: name, Value: known[name]}}, []store.Entry{{Name: name, Value: next}})
		c.note(name, before, string(next), answer.Swapped, err)
		switch {
		case err != nil:
			delete(known, name) // the next swap finds what there is
		case answer.Swapped:
			known[name] = next
		default:
			known[name] = answer.Named[0].Value
		}
	}
}

func (c *counters) note(name, before, after string, swapped bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed.Broadcast()
	if err != nil {
		c.unknown[name]++
	}
	if err != nil || !swapped {
		return
	}
	if other, twice := c.acked[name+" "+before]; twice {
		c.broken = append(c.broken, fmt.Errorf("%s: %q was replaced by %q and by %q", name, before, other, after))
	}
	c.acked[name+" "+before] = after
	c.count[name]++
	c.total++
}

// wait returns when so many more swaps were acknowledged.
func (c *counters) wait(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for until := c.total + more; c.total < until; {
		c.changed.Wait()
	}
}

// check finds swaps that were acknowledged and lost, or took effect twice, by the values that the entries have
// in the end.
func (c *counters) check(final map[string]string) error {
	broken := c.broken
	for _, name := range c.names {
		n := 0
		fmt.Sscan(final[name], &n)
		if n < c.count[name] || n > c.count[name]+c.unknown[name] {
			broken = append(broken, fmt.Errorf("%s was swapped %d times, of which %d were acknowledged and %d are unknown", name, n, c.count[name], c.unknown[name]))
		}
	}
	return errors.Join(broken...)
}

// TestLeaderKilled kills the process of the leader in the middle of many swaps, again and again. No swap that was
// acknowledged is lost, and none takes effect twice.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 3} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			cluster := startCluster(t, members, nil)
			client := clientOf(t, cluster)
			c := newCounters(newEngine(t, client, ""))
			_, before := read(t, c.engine, "a")
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer stop()
			for who := range 8 {
				wg.Go(func() { c.swap(ctx, who) })
			}
			for range 3 {
				c.wait(100)
				var leader *etcdtest.Member
				eventually(t, "find the leader", func(ctx context.Context) (err error) {
					leader, err = cluster.Leader(ctx)
					return err
				})
				if err := leader.Kill(); err != nil {
					t.Fatal(err)
				}
				if members > 1 {
					c.wait(100) // the majority goes on
				}
				if err := leader.Start(); err != nil {
					t.Fatal(err)
				}
			}
			c.wait(100)
			stop()
			wg.Wait()
			final, unknown := map[string]string{}, 0
			for _, name := range c.names {
				final[name], _ = read(t, c.engine, name)
				unknown += c.unknown[name]
			}
			if err := c.check(final); err != nil {
				t.Error(err)
			}
			if unknown == 0 {
				t.Error("no swap failed: the leader was not killed in the middle of them")
			}
			if _, after := read(t, c.engine, "a"); after.Lineage != before.Lineage || after.Position <= before.Position {
				t.Errorf("a crash looks like a loss: %+v, then %+v", before, after)
			}
		})
	}
}

// TestCounters is the negative control: an engine that acknowledges a swap twice, or forgets one, is found.
func TestCounters(t *testing.T) {
	c := newCounters(nil)
	c.note("a", "", "1 by 0.0", true, nil)
	if err := c.check(map[string]string{"a": "1 by 0.0"}); err != nil {
		t.Error(err)
	}
	if c.check(nil) == nil {
		t.Error("a swap that was lost was not found")
	}
	if c.check(map[string]string{"a": "2 by 0.0"}) == nil {
		t.Error("a swap that took effect twice was not found")
	}
	c.note("a", "", "1 by 1.0", true, nil)
	if c.check(map[string]string{"a": "2 by 1.0"}) == nil {
		t.Error("two swaps of the same value were not found")
	}
}
