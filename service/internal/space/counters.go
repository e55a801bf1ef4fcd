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
	of      *Space // which has the store; without one, or before it is open, there are no numbers
	config  config.Space
	opening singleflight.Group

	lines *lru.Cache[string, *line] // by the names of counters

	mu      sync.Mutex
	handles *simplelru.LRU[string, *Handle]
	past    map[string]counter.Status // sums of handles that are forgotten: see Statuses
	closed  bool
}

// A Handle is on one period, if the counter has periods.
type Handle struct {
	*counter.Counter
	As lease.Counter // the counter by the configuration, with the period
}

// A line is the queue of Take's calls for one counter: only the first one asks the store. Concurrent
// swaps of one counter would make each other fail, and one caller with many calls would keep out all
// others.
type line struct {
	first *semaphore.Weighted // held by the first call

	// checked says that the store had the counter as the configuration has it, which never changes.
	// Only the first call uses it.
	checked bool
}

// NewCounters returns the counters of a space, as c has them.
func NewCounters(of *Space, c config.Space) *Counters {
	counters := &Counters{of: of, config: c, past: map[string]counter.Status{}}
	counters.lines, _ = lru.New[string, *line](maxHandles) // fails for sizes below 1
	counters.handles, _ = simplelru.NewLRU(maxHandles, func(_ string, h *Handle) { counters.forget(h) })
	return counters
}

// Same reports whether two are the same counters of the same space, for the configuration.
func (c *Counters) Same(other *Counters) bool {
	return c.of == other.of && slices.Equal(c.config.Counters, other.config.Counters)
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
func (c *Counters) add(all map[string]counter.Status, h *Handle, one counter.Status) {
	by, _ := c.config.Counter(h.As.Name)
	sum := all[by.Name]
	all[by.Name] = counter.Status{
		Taken:  sum.Taken + one.Taken,
		Issued: sum.Issued + one.Issued,
		Held:   sum.Held + one.Held,
		Err:    cmp.Or(sum.Err, one.Err),
	}
}

// forget keeps what a handle has counted. Calls that still have the handle are counted no more.
func (c *Counters) forget(h *Handle) {
	counted := h.Status()
	c.add(c.past, h, counter.Status{Taken: counted.Taken, Issued: counted.Issued})
}

// A target is the counter that a call names, in its present period by this machine's clock.
type target struct {
	as       lease.Counter     // as its first use makes it, by the configuration
	present  lease.Period      // the zero Period if the counter has no periods
	counters *counter.Counters // of the store
	options  []counter.Option  // open the counter as it is, and make it if need be
}

// target returns the counter of a name, without asking the store.
func (c *Counters) target(name string) (to target, err error) {
	found, ok := c.config.Counter(name)
	if !ok {
		return to, fmt.Errorf("%w: %.100q of space %s: ask for one that the service has",
			lease.ErrNoCounter, name, c.config.Name)
	}
	state, err := c.of.State()
	if err != nil {
		return to, err
	}
	to.counters = counter.From(state.Store)
	to.present, err = found.PeriodAt(time.Now())
	if err != nil {
		return to, err
	}
	to.as = lease.Counter{
		Name:    name,
		Start:   cmp.Or(found.Start, 1),
		Next:    cmp.Or(found.Start, 1),
		Step:    cmp.Or(found.Step, 1),
		End:     cmp.Or(found.End, math.MaxInt64),
		Periods: to.present.Of,
		Check:   found.Check,
	}
	shape := counter.Config{Start: found.Start, Step: found.Step, End: found.End, Check: found.Check}
	to.options = []counter.Option{counter.OrCreate(shape), counter.OfPeriod(to.present)}
	return to, nil
}

// Get returns a counter. One that was not used yet is as its first use will make it.
func (c *Counters) Get(ctx context.Context, name string) (lease.Counter, error) {
	to, err := c.target(name)
	if err != nil {
		return lease.Counter{}, err
	}
	found, err := to.counters.Source().Counter(ctx, name)
	if errors.Is(err, lease.ErrNoCounter) {
		return to.as, nil
	}
	return found, err
}

// Set says where a counter goes on. It makes the counter if need be: after a loss of data, the one
// that callers had used may be gone.
func (c *Counters) Set(ctx context.Context, name string, next int64) error {
	to, err := c.target(name)
	if err != nil {
		return err
	}
	if _, err := to.counters.OpenStrict(ctx, name, to.options...); err != nil {
		return err
	}
	return to.counters.Source().SetCounter(ctx, name, next)
}

// Take takes numbers of a counter, and returns which counter, with its period. It makes the counter
// if need be.
func (c *Counters) Take(
	ctx context.Context,
	name string,
	n int64,
) (run lease.Run, as lease.Counter, err error) {
	if _, err := c.target(name); err != nil {
		return run, as, err // no line for a counter that the configuration does not have
	}
	l := c.line(name)
	err = l.first.Acquire(ctx, 1)
	if errors.Is(err, context.DeadlineExceeded) { // the store did not answer earlier calls in time
		return run, as, fmt.Errorf("%w: take numbers of counter %s: %w", lease.ErrStore, name, err)
	}
	if err != nil {
		return run, as, err
	}
	defer l.first.Release(1)
	to, err := c.target(name) // anew, as a period may have ended meanwhile
	if err != nil {
		return run, as, err
	}
	if !l.checked {
		if _, err := to.counters.OpenStrict(ctx, name, to.options...); err != nil {
			return run, as, err
		}
		l.checked = true
	}
	run, err = to.counters.Source().TakeNumbers(ctx, name, to.present, n)
	if errors.Is(err, lease.ErrNoCounter) {
		l.checked = false // data was lost; the next call makes the counter
	}
	to.as.Period = to.present.Key
	return run, to.as, err
}

// line returns the one line for a counter.
func (c *Counters) line(name string) *line {
	if l, ok := c.lines.Get(name); ok {
		return l
	}
	l := &line{first: semaphore.NewWeighted(1)}
	if earlier, ok, _ := c.lines.PeekOrAdd(name, l); ok {
		return earlier // of a call at the same time
	}
	return l
}

const openTime = 10 * time.Second // for a counter to be opened

// Handle returns the handle on the present period of a counter. If there is none, Handle opens one
// for all callers that wait, and makes the counter if need be.
func (c *Counters) Handle(ctx context.Context, name string) (*Handle, error) {
	to, err := c.target(name)
	if err != nil {
		return nil, err
	}
	if h := c.handle(to); h != nil {
		return h, nil
	}
	opened := c.opening.DoChan(name+" "+to.present.Key, func() (any, error) { return c.open(to) })
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
	to, err := c.target(name)
	if err != nil {
		return nil, err
	}
	return c.handle(to), nil
}

func (c *Counters) handle(to target) *Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, _ := c.handles.Get(to.as.Name)
	if h == nil || h.As.Period != to.present.Key {
		return nil
	}
	return h
}

// open opens a handle, which takes the place of the one on the period before. That one stays open
// for calls that have it.
func (c *Counters) open(to target) (*Handle, error) {
	// Not the context of a caller: others wait, too.
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	options := append(to.options, counter.WithLogger(c.of.logger()))
	opened, err := to.counters.Open(ctx, to.as.Name, options...)
	if err != nil {
		return nil, err
	}
	h := &Handle{Counter: opened, As: to.as}
	h.As.Period = to.present.Key
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handles.Remove(to.as.Name) // and forgets the one before
	c.handles.Add(to.as.Name, h)
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
