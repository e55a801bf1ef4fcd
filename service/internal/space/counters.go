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
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
)

// maxHandles bounds the counters that are known at a time, as callers may make up names that match a
// pattern. The one whose last use is longest ago is forgotten, with the numbers in its run.
const maxHandles = 4096

// Counters are the counters of a space, as the configuration has them. Take takes numbers from the
// store. Handle returns a handle, which hands out numbers from memory. Counters are safe for
// concurrent use.
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

// A Handle is on one period, if the counter has periods.
type Handle struct {
	*counter.Counter
	As lease.Counter // the counter as the configuration wants it, in that period
}

// A queue has Take's calls for one counter, of which only the first asks the store. Concurrent swaps of
// one counter would make each other fail, and one caller with many calls would keep out all others.
type queue struct {
	first *semaphore.Weighted // held by the first call

	// checked says that the store had the counter as the configuration has it, which never changes.
	// Only the first call uses it.
	checked bool
}

// NewCounters returns the counters of a space, as c has them.
func NewCounters(space *Space, c config.Space) *Counters {
	counters := &Counters{space: space, config: c, past: map[string]counter.Status{}}
	counters.queues, _ = lru.New[string, *queue](maxHandles) // fails for sizes below 1
	counters.handles, _ = simplelru.NewLRU(maxHandles, func(_ string, h *Handle) { counters.forget(h) })
	return counters
}

// Same reports whether c can take the place of other: it has the same space, and its configuration has
// the same counters.
func (c *Counters) Same(other *Counters) bool {
	return c.space == other.space && slices.Equal(c.config.Counters, other.config.Counters)
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

// forget keeps what a handle has counted. Calls that still have the handle are counted no more.
func (c *Counters) forget(h *Handle) {
	counted := h.Status()
	c.add(c.past, h, counter.Status{Taken: counted.Taken, Issued: counted.Issued})
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
	t.counters = counter.From(state.Store)
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
		Periods: t.period.Of,
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

// Take takes numbers of a counter, and returns which counter, with its period. It makes the counter
// if need be.
func (c *Counters) Take(ctx context.Context, name string, n int64) (run lease.Run, taken lease.Counter, err error) {
	if _, err := c.rule(name); err != nil {
		return run, taken, err // before there is a queue for it
	}
	q := c.queue(name)
	err = q.first.Acquire(ctx, 1)
	if errors.Is(err, context.DeadlineExceeded) { // the store did not answer earlier calls in time
		return run, taken, fmt.Errorf("%w: take numbers of counter %s: %w", lease.ErrStore, name, err)
	}
	if err != nil {
		return run, taken, err
	}
	defer q.first.Release(1)
	t, err := c.target(name) // now: a period may have ended while this call waited
	if err != nil {
		return run, taken, err
	}
	run, err = q.take(ctx, t, n)
	return run, t.inPeriod(), err
}

// take takes numbers for the first call.
func (q *queue) take(ctx context.Context, t target, n int64) (run lease.Run, err error) {
	name := t.wanted.Name
	if !q.checked {
		if _, err := t.counters.OpenStrict(ctx, name, t.options...); err != nil {
			return run, err
		}
		q.checked = true
	}
	run, err = t.counters.Source().TakeNumbers(ctx, name, t.period, n)
	if errors.Is(err, lease.ErrNoCounter) {
		q.checked = false // data was lost; the next call makes the counter
	}
	return run, err
}

// queue returns the one queue for a counter.
func (c *Counters) queue(name string) *queue {
	if q, ok := c.queues.Get(name); ok {
		return q
	}
	q := &queue{first: semaphore.NewWeighted(1)}
	if earlier, ok, _ := c.queues.PeekOrAdd(name, q); ok {
		return earlier // of a call at the same time
	}
	return q
}

const openTime = 10 * time.Second // for a counter to be opened

// Handle returns the handle on the present period of a counter. If there is none, Handle opens one
// for all callers that wait, and makes the counter if need be.
func (c *Counters) Handle(ctx context.Context, name string) (*Handle, error) {
	t, err := c.target(name)
	if err != nil {
		return nil, err
	}
	if h := c.handle(t); h != nil {
		return h, nil
	}
	opened := c.opening.DoChan(name+" "+t.period.Key, func() (any, error) { return c.open(t) })
	select {
	case r := <-opened:
		return r.Val.(*Handle), r.Err // the handle is nil if there is an error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Opened returns the handle on the present period of a counter, or nil if there is none. It never
// waits for the store.
func (c *Counters) Opened(name string) (*Handle, error) {
	t, err := c.target(name)
	if err != nil {
		return nil, err
	}
	return c.handle(t), nil
}

func (c *Counters) handle(t target) *Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, _ := c.handles.Get(t.wanted.Name)
	if h == nil || h.As.Period != t.period.Key {
		return nil
	}
	return h
}

// open opens a handle, which takes the place of the one on the period before. That one stays open
// for calls that have it.
func (c *Counters) open(t target) (*Handle, error) {
	// Not the context of a caller: others wait, too.
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	options := append(t.options, counter.WithLogger(c.space.logger()))
	opened, err := t.counters.Open(ctx, t.wanted.Name, options...)
	if err != nil {
		return nil, err
	}
	h := &Handle{Counter: opened, As: t.inPeriod()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles.Remove(t.wanted.Name) // and forgets the one before
	c.handles.Add(t.wanted.Name, h)
	if c.closed {
		h.Close()
	}
	return h, nil
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
