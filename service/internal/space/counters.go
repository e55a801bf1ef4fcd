package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
)

// maxHandles bounds the counters that are known at a time, as callers may make up names that match a
// pattern. The one whose last use is longest ago is forgotten, with the numbers in its run.
const maxHandles = 4096

// Counters are the counters of a space, as the configuration has them. Take takes numbers from the store. Handle
// returns a handle, which hands out numbers from memory. Counters are safe for concurrent use.
type Counters struct {
	space   *Space // which has the store; without one, or before it is open, there are no numbers
	config  config.Space
	opening singleflight.Group

	queues *lru.Cache[string, *queue] // by the names of counters; it has its own lock

	mu      sync.Mutex                      // guards what follows: when a handle is forgotten, past grows
	handles *simplelru.LRU[string, *Handle] // by the names of counters
	past    map[string]counter.Status       // sums of handles that are forgotten: see Statuses
	closed  bool
}

// NewCounters returns the counters of a space, as c has them.
func NewCounters(space *Space, c config.Space) *Counters {
	counters := &Counters{space: space, config: c, past: map[string]counter.Status{}}
	counters.queues, _ = lru.New[string, *queue](maxHandles) // fails for sizes below 1
	counters.handles, _ = simplelru.NewLRU(maxHandles, func(_ string, h *Handle) { counters.keepCounts(h) })
	return counters
}

// Same reports whether c can take the place of other: it has the same space, and its configuration has
// the same counters.
func (c *Counters) Same(other *Counters) bool {
	return c.space == other.space && slices.Equal(c.config.Counters, other.config.Counters)
}

// A target is the counter that a call names, in its present period by this machine's clock.
type target struct {
	wanted   lease.Counter     // as its first use makes it: no period of it has begun
	period   lease.Period      // the present one, or the zero Period if the counter has no periods
	counters *counter.Counters // of the store
	options  []counter.Option  // open the counter as it is, and make it if need be
}

// inPeriod returns the counter as the configuration wants it, in its present period.
func (t target) inPeriod() lease.Counter {
	t.wanted.Period = t.period.Key
	return t.wanted
}

// rule returns what the configuration has for the counter of a name.
func (c *Counters) rule(name string) (config.Counter, error) {
	rule, ok := c.config.Counter(name)
	if !ok {
		return rule, fmt.Errorf("%w: %.100q of space %s: ask for one that the service has",
			lease.ErrNoCounter, name, c.config.Name)
	}
	return rule, nil
}

// target returns the counter of a name, without asking the store.
func (c *Counters) target(name string) (t target, err error) {
	rule, err := c.rule(name)
	if err != nil {
		return t, err
	}
	state, err := c.space.State()
	if err != nil {
		return t, err
	}
	t.counters = counter.From(state.Leases)
	t.period, err = rule.PeriodAt(time.Now())
	if err != nil {
		return t, err
	}
	t.wanted = lease.Counter{ // with the defaults of counter.Config
		Name:    name,
		Start:   cmp.Or(rule.Start, 1),
		Next:    cmp.Or(rule.Start, 1),
		Step:    cmp.Or(rule.Step, 1),
		Last:    cmp.Or(rule.Last, math.MaxInt64),
		Periods: t.period.Periods,
		Series:  rule.Series,
	}
	create := counter.Config{Start: rule.Start, Step: rule.Step, Last: rule.Last, Series: rule.Series}
	t.options = []counter.Option{counter.OrCreate(create), counter.OfPeriod(t.period)}
	return t, nil
}

// Get returns a counter. One that was not used yet is as its first use will make it.
func (c *Counters) Get(ctx context.Context, name string) (lease.Counter, error) {
	t, err := c.target(name)
	if err != nil {
		return lease.Counter{}, err
	}
	stored, err := t.counters.Source().Counter(ctx, name)
	if errors.Is(err, lease.ErrNoCounter) {
		return t.wanted, nil
	}
	return stored, err
}

// Set says where a counter goes on. It makes the counter if need be: after a loss of data, the one
// that callers had used may be gone.
func (c *Counters) Set(ctx context.Context, name string, next int64) error {
	t, err := c.target(name)
	if err != nil {
		return err
	}
	if _, err := t.counters.OpenStrict(ctx, name, t.options...); err != nil {
		return err
	}
	return t.counters.Source().SetCounter(ctx, name, next)
}

// Close closes the handles.
func (c *Counters) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, h := range c.handles.Values() {
		h.Close()
	}
}

// Statuses returns the status of each counter, or pattern, of the configuration: the sum over its
// handles. Handles that are forgotten are in the sums of Taken and Issued, which never decrease.
func (c *Counters) Statuses() map[string]counter.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.past)
	for _, h := range c.handles.Values() {
		c.add(all, h, h.Status())
	}
	return all
}

// add adds the status of a handle to that of its counter, or pattern.
func (c *Counters) add(all map[string]counter.Status, h *Handle, status counter.Status) {
	rule, _ := c.config.Counter(h.As.Name)
	sum := all[rule.Name]
	all[rule.Name] = counter.Status{
		Taken:  sum.Taken + status.Taken,
		Issued: sum.Issued + status.Issued,
		Held:   sum.Held + status.Held,
		Err:    cmp.Or(sum.Err, status.Err),
	}
}

// keepCounts keeps what a handle has counted that leaves the handles. Calls that still have it are counted no more.
func (c *Counters) keepCounts(h *Handle) {
	counted := h.Status()
	c.add(c.past, h, counter.Status{Taken: counted.Taken, Issued: counted.Issued})
}
