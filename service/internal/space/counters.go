package space

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/service/internal/config"
)

// Counters are the counters of a space, with a handle on each one in use. They are safe for concurrent use.
type Counters struct {
	*counter.Counters
	logger  *slog.Logger
	options map[string][]counter.Option

	mu      sync.Mutex
	handles map[string]*counter.Counter
	made    map[string]bool // by patterns
	closed  bool
}

func newCounters(counters *counter.Counters, space string, o Options) *Counters {
	c := &Counters{Counters: counters, logger: o.Logger, options: map[string][]counter.Option{}, handles: map[string]*counter.Counter{}, made: map[string]bool{}}
	for _, counter := range o.Counters {
		if counter.Space == space {
			c.options[counter.Name] = asMade(counter)
		}
	}
	return c
}

// Names returns the names of the counters, in order: those that the configuration names, and those that match a pattern
// and are in use.
func (c *Counters) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Concat(slices.Collect(maps.Keys(c.options)), slices.Collect(maps.Keys(c.handles)), slices.Collect(maps.Keys(c.made)))
	all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "*") })
	slices.Sort(all)
	return slices.Compact(all)
}

// ErrMany says that too many counters match patterns.
var ErrMany = errors.New("space: too many counters by patterns")

// maxMade is the maximum number of counters that callers may create by patterns: counters are never deleted.
const maxMade = 1000

// terms returns the options of a counter, and whether it matches a pattern. It is called with mu held.
func (c *Counters) terms(name string) (options []counter.Option, byPattern bool, err error) {
	options, found := config.ByName(c.options, name)
	if _, named := c.options[name]; !found || named {
		return options, false, nil
	}
	if !c.made[name] && len(c.made) >= maxMade {
		return nil, true, fmt.Errorf("%w: there are %d: name more in the configuration", ErrMany, maxMade)
	}
	return options, true, nil
}

// Statuses returns the status of each handle, in the order of their names.
func (c *Counters) Statuses() (all []counter.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.handles)) {
		all = append(all, c.handles[name].Status())
	}
	return all
}

// asMade returns the options of a counter.
func asMade(c config.Counter) []counter.Option {
	var options []counter.Option
	if c.Start != nil {
		options = append(options, counter.WithStart(*c.Start))
	}
	if c.Stride != nil {
		options = append(options, counter.WithStride(*c.Stride))
	}
	if c.End != nil {
		options = append(options, counter.WithEnd(*c.End))
	}
	if c.Rate != 0 {
		options = append(options, counter.WithRate(c.Rate))
	}
	return options
}

// Handle returns the handle on a counter of this space, and creates the counter if need be.
func (c *Counters) Handle(ctx context.Context, name string) (*counter.Counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.handles[name]; h != nil {
		return h, nil
	}
	if c.closed {
		return nil, counter.ErrClosed
	}
	options, byPattern, err := c.terms(name)
	if err != nil {
		return nil, err
	}
	h, err := c.Open(ctx, name, slices.Concat(options, []counter.Option{counter.OrCreate(), counter.WithLogger(c.logger)})...)
	if err == nil {
		c.handles[name] = h
		if byPattern {
			c.made[name] = true
		}
	}
	return h, err
}

// Made creates a counter unless it exists.
func (c *Counters) Made(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	options, byPattern, err := c.terms(name)
	if err != nil {
		return err
	}
	_, err = c.Create(ctx, name, options...)
	if _, found := c.Get(ctx, name); found != nil {
		return err
	}
	if byPattern {
		c.made[name] = true
	}
	return nil
}

// Close gives back the unused numbers of the handles.
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
