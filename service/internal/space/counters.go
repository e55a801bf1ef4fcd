package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/internal/config"
)

// Counters are the counters of a space, with a handle on each one of which Next was asked. They are safe for concurrent use.
type Counters struct {
	*counter.Counters
	logger    *slog.Logger
	elsewhere func(ctx context.Context, counter string) error
	opening   singleflight.Group

	mu      sync.Mutex
	terms   map[string]config.Counter
	handles map[string]*counter.Counter
	made    map[maker]int // counters, by whom and of which pattern
	closed  bool
}

type maker struct{ principal, pattern string }

func newCounters(logger *slog.Logger) *Counters {
	return &Counters{logger: logger, handles: map[string]*counter.Counter{}, made: map[maker]int{}}
}

// configure replaces the counters of the configuration, and closes handles on those that are gone or were changed.
func (c *Counters) configure(terms map[string]config.Counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.handles {
		was, _ := config.ByName(c.terms, name)
		if is, _ := config.ByName(terms, name); is != was {
			delete(c.handles, name)
			h.Close()
		}
	}
	c.terms = terms
}

// Statuses returns the statuses of the handles, by what the configuration has for them.
func (c *Counters) Statuses() map[string][]counter.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string][]counter.Status{}
	for name, h := range c.handles {
		by, _ := config.ByName(c.terms, name)
		all[by.Name] = append(all[by.Name], h.Status())
	}
	return all
}

// ErrMost says that a principal has made as many counters of a pattern as it may.
var ErrMost = errors.New("too many new counters: the limit of the pattern is reached")

func (c *Counters) of(name string) (config.Counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	terms, found := config.ByName(c.terms, name)
	if !found || strings.HasSuffix(name, "*") {
		return terms, fmt.Errorf("%w: %.100q", lease.ErrNoCounter, name)
	}
	return terms, nil
}

// As returns a counter as the configuration has it, before anybody used it.
func (c *Counters) As(name string) (lease.Counter, error) {
	terms, err := c.of(name)
	return as(name, terms), err
}

func as(name string, terms config.Counter) lease.Counter {
	start := cmp.Or(terms.Start, 1)
	return lease.Counter{Name: name, Next: start, Start: start, Step: cmp.Or(terms.Step, 1), End: cmp.Or(terms.End, math.MaxInt64)}
}

// create creates a counter, unless it exists, for a principal.
func (c *Counters) create(ctx context.Context, principal, name string, terms config.Counter) error {
	if c.elsewhere != nil && !terms.Moved {
		if err := c.elsewhere(ctx, name); err != nil {
			return err
		}
	}
	by := maker{principal, terms.Name}
	c.mu.Lock()
	defer c.mu.Unlock()
	if terms.Name != name && c.made[by] >= cmp.Or(terms.Most, config.DefaultMost) {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%w, %s: name counters in the configuration, or raise most", ErrMost, terms.Name))
	}
	c.made[by]++ // before the lock is given up
	c.mu.Unlock()
	err := c.CreateCounter(ctx, as(name, terms))
	c.mu.Lock()
	if err != nil {
		c.made[by]--
	}
	if errors.Is(err, lease.ErrExists) {
		return nil
	}
	return err
}

// Take takes numbers of a counter, and makes it if need be.
func (c *Counters) Take(ctx context.Context, principal, name string, period lease.Period, n int64) (lease.Run, error) {
	terms, err := c.of(name)
	if err != nil {
		return lease.Run{}, err
	}
	run, err := c.TakeNumbers(ctx, name, period, n)
	if errors.Is(err, lease.ErrNoCounter) {
		if err = c.create(ctx, principal, name, terms); err == nil {
			run, err = c.TakeNumbers(ctx, name, period, n)
		}
	}
	return run, err
}

// openTime is how long opening a counter may take.
const openTime = 10 * time.Second

// Handle returns the handle on a counter, and makes the counter if need be. Callers who come while it is being opened share it, and
// callers of other counters don't wait.
func (c *Counters) Handle(ctx context.Context, principal, name string) (*counter.Counter, error) {
	c.mu.Lock()
	h := c.handles[name]
	c.mu.Unlock()
	if h != nil {
		return h, nil
	}
	terms, err := c.of(name)
	if err != nil {
		return nil, err
	}
	opened := c.opening.DoChan(name+" "+principal, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), openTime)
		defer cancel()
		return c.open(ctx, principal, name, terms)
	})
	select {
	case r := <-opened:
		return r.Val.(*counter.Counter), r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Counters) open(ctx context.Context, principal, name string, terms config.Counter) (*counter.Counter, error) {
	_, err := c.Counter(ctx, name)
	if errors.Is(err, lease.ErrNoCounter) {
		err = c.create(ctx, principal, name, terms)
	}
	if err != nil {
		return nil, err
	}
	made := counter.Config{Start: terms.Start, Step: terms.Step, End: terms.End}
	h, err := c.Open(ctx, name, counter.OrCreate(made), counter.WithLogger(c.logger)) // which compares it
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, _ := config.ByName(c.terms, name)
	switch other := c.handles[name]; {
	case c.closed || now != terms:
		h.Close()
		return nil, fmt.Errorf("%w: the configuration has changed: try again", counter.ErrClosed)
	case other != nil:
		h.Close()
		return other, nil
	}
	c.handles[name] = h
	return h, nil
}

// List returns up to limit counters that the configuration has in this space, after a name, and the name up to which it has looked,
// or "" for the end.
func (c *Counters) List(ctx context.Context, after string, limit int) (found []lease.Counter, upTo string, err error) {
	all, err := c.Counters.Counters(ctx, after, limit)
	for _, one := range all {
		if _, err := c.of(one.Name); err == nil {
			found = append(found, one)
		}
	}
	if len(all) == limit {
		upTo = all[limit-1].Name
	}
	return found, upTo, err
}

// Close closes the handles.
func (c *Counters) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, h := range c.handles {
		h.Close()
	}
}
