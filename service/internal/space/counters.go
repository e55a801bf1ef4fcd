package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
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
	counter.Source
	of      config.Space
	logger  *slog.Logger
	opening singleflight.Group

	mu      sync.Mutex
	handles map[string]*counter.Counter
	closed  bool
	made    map[pattern]int // counters
}

type pattern struct{ principal, name string }

func newCounters(source counter.Source, of config.Space, logger *slog.Logger) *Counters {
	return &Counters{Source: source, of: of, logger: logger, handles: map[string]*counter.Counter{}, made: map[pattern]int{}}
}

// Statuses returns the sums of the statuses of all handles that are one counter, or one pattern, of the configuration.
func (c *Counters) Statuses() map[string]counter.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]counter.Status{}
	for name, handle := range c.handles {
		by, _ := c.of.Counter(name)
		sum, h := all[by.Name], handle.Status()
		all[by.Name] = counter.Status{Taken: sum.Taken + h.Taken, Issued: sum.Issued + h.Issued, Held: sum.Held + h.Held, Err: cmp.Or(sum.Err, h.Err)}
	}
	return all
}

// As returns a counter as the configuration has it, before anybody used it.
func (c *Counters) As(name string) (lease.Counter, error) {
	as, found := c.of.Counter(name)
	if !found {
		return lease.Counter{}, fmt.Errorf("%w: %.100q of space %s: ask for one that the service has", lease.ErrNoCounter, name, c.of.Name)
	}
	return lease.Counter{Name: name, Next: cmp.Or(as.Start, 1), Start: cmp.Or(as.Start, 1), Step: cmp.Or(as.Step, 1), End: cmp.Or(as.End, math.MaxInt64)}, nil
}

// ErrMost says that a principal has made as many counters of a pattern as it may.
var ErrMost = errors.New("too many new counters: the limit of the pattern is reached")

// A maker is the source of the counters, which makes them for a principal.
type maker struct {
	counter.Source
	all       *Counters
	principal string
}

// CreateCounter implements counter.Source.
func (m maker) CreateCounter(ctx context.Context, counter lease.Counter) error {
	c := m.all
	as, _ := c.of.Counter(counter.Name)
	by := pattern{m.principal, as.Name}
	c.mu.Lock()
	defer c.mu.Unlock()
	if as.Name != counter.Name && c.made[by] >= cmp.Or(as.Most, config.DefaultMost) {
		return connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%w, %s: name counters in the configuration, or raise most", ErrMost, as.Name))
	}
	c.made[by]++ // before the lock is given up
	c.mu.Unlock()
	err := m.Source.CreateCounter(ctx, counter)
	c.mu.Lock()
	if err != nil {
		c.made[by]--
	}
	return err
}

// Take takes numbers of a counter, and makes it if need be.
func (c *Counters) Take(ctx context.Context, principal, name string, period lease.Period, n int64) (lease.Run, error) {
	as, err := c.As(name)
	if err != nil {
		return lease.Run{}, err
	}
	run, err := c.TakeNumbers(ctx, name, period, n)
	if errors.Is(err, lease.ErrNoCounter) {
		if err = (maker{c.Source, c, principal}).CreateCounter(ctx, as); err == nil || errors.Is(err, lease.ErrExists) {
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
	if _, err := c.As(name); err != nil {
		return nil, err
	}
	opened := c.opening.DoChan(name+" "+principal, func() (any, error) { return c.open(principal, name) })
	select {
	case r := <-opened:
		return r.Val.(*counter.Counter), r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Counters) open(principal, name string) (*counter.Counter, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	as, _ := c.of.Counter(name)
	h, err := counter.From(maker{c.Source, c, principal}).Open(ctx, name, counter.OrCreate(counter.Config{Start: as.Start, Step: as.Step, End: as.End}), counter.WithLogger(c.logger))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.handles[name]; c.closed || other != nil {
		h.Close()
		return cmp.Or(other, h), nil
	}
	c.handles[name] = h
	return h, nil
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
