package space

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/randflake/randflake/segments"
	"github.com/randflake/randflake/service/internal/config"
)

// Counters are those of a space, with a handle on each one that was used. They are safe for concurrent use.
type Counters struct {
	*segments.Counters
	logger  *slog.Logger
	options map[string][]segments.Option

	mu      sync.Mutex
	handles map[string]*segments.Counter
	closed  bool
}

func newCounters(counters *segments.Counters, space string, o Options) *Counters {
	c := &Counters{Counters: counters, logger: o.Logger, options: map[string][]segments.Option{}, handles: map[string]*segments.Counter{}}
	for _, counter := range o.Counters {
		if counter.Space == space {
			c.options[counter.Name] = asMade(counter)
		}
	}
	return c
}

// Names returns the names of the counters, in order.
func (c *Counters) Names() []string { return slices.Sorted(maps.Keys(c.options)) }

// Statuses returns how the handles fare, in the order of their names.
func (c *Counters) Statuses() (all []segments.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.handles)) {
		all = append(all, c.handles[name].Status())
	}
	return all
}

// asMade returns the options of a counter.
func asMade(c config.Counter) []segments.Option {
	var options []segments.Option
	if c.Start != nil {
		options = append(options, segments.WithStart(*c.Start))
	}
	if c.Stride != nil {
		options = append(options, segments.WithStride(*c.Stride))
	}
	if c.End != nil {
		options = append(options, segments.WithEnd(*c.End))
	}
	if c.Rate != 0 {
		options = append(options, segments.WithRate(c.Rate))
	}
	return options
}

// Handle returns the handle on a counter of this space, which is made where it is not there.
func (c *Counters) Handle(ctx context.Context, name string) (*segments.Counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.handles[name]; h != nil {
		return h, nil
	}
	if c.closed {
		return nil, segments.ErrClosed
	}
	h, err := c.Open(ctx, name, slices.Concat(c.options[name], []segments.Option{segments.OrCreate(), segments.WithLogger(c.logger)})...)
	if err == nil {
		c.handles[name] = h
	}
	return h, err
}

// Made makes a counter where it is not there.
func (c *Counters) Made(ctx context.Context, name string) error {
	_, err := c.Create(ctx, name, c.options[name]...)
	if _, found := c.Get(ctx, name); found == nil {
		return nil
	}
	return err
}

// Close gives back the numbers that handles have left.
func (c *Counters) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	errs := make([]error, 0, len(c.handles))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, h := range c.handles {
		wg.Go(func() {
			err := h.Close()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
