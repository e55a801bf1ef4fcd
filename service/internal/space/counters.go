package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
)

// maxHandles is how many counters are known at a time, as callers may make up names that match a
// pattern. The counter that was not used for longest is forgotten, with the numbers in its run.
const maxHandles = 4096

// Counters are the counters of a space, as the configuration has them. Take takes numbers from the
// store. Handle returns a handle, which hands out numbers from memory. Counters are safe for
// concurrent use.
type Counters struct {
	counter.Source
	of      config.Space
	logger  *slog.Logger
	opening singleflight.Group

	// Names of counters that the store had as the configuration has them. What a counter is never
	// changes.
	checked *lru.Cache[string, struct{}]

	handles *lru.Cache[string, *Handle]
	closed  atomic.Bool
}

// A Handle is of one period, if the counter has periods.
type Handle struct {
	*counter.Counter
	As lease.Counter // the counter by the configuration, with the period
}

func newCounters(source counter.Source, of config.Space, logger *slog.Logger) *Counters {
	checked, _ := lru.New[string, struct{}](maxHandles) // fails for sizes below 1
	handles, _ := lru.New[string, *Handle](maxHandles)
	return &Counters{Source: source, of: of, logger: logger, checked: checked, handles: handles}
}

// Statuses returns the status of each counter, or pattern, of the configuration: the sum over its
// handles.
func (c *Counters) Statuses() map[string]counter.Status {
	all := map[string]counter.Status{}
	for _, handle := range c.handles.Values() {
		by, _ := c.of.Counter(handle.As.Name)
		sum := all[by.Name]
		one := handle.Status()
		all[by.Name] = counter.Status{
			Taken:  sum.Taken + one.Taken,
			Issued: sum.Issued + one.Issued,
			Held:   sum.Held + one.Held,
			Err:    cmp.Or(sum.Err, one.Err),
		}
	}
	return all
}

// As returns a counter as its first use makes it by the configuration, and its present period by
// this machine's clock.
func (c *Counters) As(name string) (as lease.Counter, present lease.Period, err error) {
	found, ok := c.of.Counter(name)
	if !ok {
		return as, present, fmt.Errorf("%w: %.100q of space %s: ask for one that the service has",
			lease.ErrNoCounter, name, c.of.Name)
	}
	present, err = found.PeriodAt(time.Now())
	as = lease.Counter{
		Name:    name,
		Start:   cmp.Or(found.Start, 1),
		Step:    cmp.Or(found.Step, 1),
		End:     cmp.Or(found.End, math.MaxInt64),
		Periods: present.Of,
		Check:   found.Check,
	}
	as.Next = as.Start
	return as, present, err
}

// Take takes numbers of a counter, and returns which counter, with its period. It makes the counter
// if need be.
func (c *Counters) Take(
	ctx context.Context,
	name string,
	n int64,
) (run lease.Run, as lease.Counter, err error) {
	as, present, err := c.As(name)
	if err != nil {
		return run, as, err
	}
	if _, checked := c.checked.Get(name); !checked {
		_, err := counter.From(c.Source).OpenStrict(ctx, name, options(as, present)...)
		if err != nil {
			return run, as, err
		}
		c.checked.Add(name, struct{}{})
	}
	run, err = c.TakeNumbers(ctx, name, present, n)
	if errors.Is(err, lease.ErrNoCounter) {
		c.checked.Remove(name) // data was lost; the next call makes the counter
	}
	as.Period = present.Key
	return run, as, err
}

// options returns the options that open a counter as it is, in a period, and make it if need be.
func options(as lease.Counter, present lease.Period) []counter.Option {
	config := counter.Config{Start: as.Start, Step: as.Step, End: as.End, Check: as.Check}
	return []counter.Option{counter.OrCreate(config), counter.OfPeriod(present)}
}

// openTime is how long opening a counter may take.
const openTime = 10 * time.Second

// Handle returns the handle on the present period of a counter. If there is none, Handle opens one
// for all callers that wait, and makes the counter if need be.
func (c *Counters) Handle(ctx context.Context, name string) (*Handle, error) {
	as, present, err := c.As(name)
	if err != nil {
		return nil, err
	}
	h, _ := c.handles.Get(name)
	if h != nil && h.As.Period == present.Key {
		return h, nil
	}
	opened := c.opening.DoChan(name+" "+present.Key, func() (any, error) { return c.open(as, present) })
	select {
	case r := <-opened:
		return r.Val.(*Handle), r.Err // the handle is nil if there is an error
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open opens a handle, which takes the place of the one on the period before. That one stays open
// for calls that have it.
func (c *Counters) open(as lease.Counter, period lease.Period) (*Handle, error) {
	// Not the context of a caller: others wait, too.
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	with := append(options(as, period), counter.WithLogger(c.logger))
	opened, err := counter.From(c.Source).Open(ctx, as.Name, with...)
	if err != nil {
		return nil, err
	}
	as.Period = period.Key
	h := &Handle{opened, as}
	c.handles.Add(as.Name, h)
	if c.closed.Load() {
		h.Close() // Close may have looked at the handles before this one was there
	}
	return h, nil
}

// Close closes the handles.
func (c *Counters) Close() {
	c.closed.Store(true)
	for _, h := range c.handles.Values() {
		h.Close()
	}
}
