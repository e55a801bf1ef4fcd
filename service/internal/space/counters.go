package space

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/singleflight"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/service/internal/config"
)

// Counters are the counters of a space, with a handle on each one in use. They are safe for concurrent use.
type Counters struct {
	*counter.Counters
	logger  *slog.Logger
	opening singleflight.Group

	mu      sync.Mutex
	terms   map[string]config.Counter
	handles map[string]*counter.Counter
	made    map[string]maker // by names that match patterns
	closed  bool
	busy    sync.WaitGroup // with handles that are opened or closed
}

// A maker is the principal that made a counter, and the pattern that its name matches; or zero, if not known here.
type maker struct{ principal, pattern string }

func newCounters(logger *slog.Logger) *Counters {
	return &Counters{logger: logger, handles: map[string]*counter.Counter{}, made: map[string]maker{}}
}

// configure replaces the counters of the configuration, and closes handles on those that are gone or were changed.
func (c *Counters) configure(terms map[string]config.Counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, h := range c.handles {
		was, _ := config.ByName(c.terms, name)
		if is, _ := config.ByName(terms, name); !reflect.DeepEqual(was, is) {
			delete(c.handles, name)
			c.busy.Go(func() { h.Close() })
		}
	}
	c.terms = terms
}

// Names returns the names of the counters, in order: those that the configuration names, and of those that match a
// pattern and are in use as many as one principal may make.
func (c *Counters) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := slices.Sorted(maps.Keys(c.made))
	all := slices.AppendSeq(made[:min(len(made), config.DefaultMost)], maps.Keys(c.terms))
	all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "*") })
	slices.Sort(all)
	return slices.Compact(all)
}

// Statuses returns the status of each handle, by name.
func (c *Counters) Statuses() map[string]counter.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]counter.Status{}
	for name, h := range c.handles {
		all[name] = h.Status()
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

// ErrMost says that a principal has made as many counters of a pattern as it may.
var ErrMost = errors.New("too many new counters: the limit of the pattern is reached")

// admit returns what the configuration says of a counter that a principal asks for. If the name matches a pattern and is
// new, the counter counts as made by the principal.
func (c *Counters) admit(ctx context.Context, principal, name string) (config.Counter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	terms, found := config.ByName(c.terms, name)
	if !found && !strings.HasSuffix(name, "*") { // which no counter has, as Get says
		return terms, fmt.Errorf("%w: %.100q", counter.ErrNoCounter, name)
	}
	if _, known := c.made[name]; known || terms.Name == name {
		return terms, nil
	}
	c.mu.Unlock()
	_, err := c.Get(ctx, name)
	c.mu.Lock()
	by, most := maker{principal, terms.Name}, cmp.Or(terms.Most, config.DefaultMost)
	for _, other := range c.made {
		if other == by {
			most--
		}
	}
	switch _, known := c.made[name]; {
	case known:
	case err == nil:
		c.made[name] = maker{}
	case !errors.Is(err, counter.ErrNoCounter):
		return terms, err
	case most <= 0:
		return terms, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%w, %s: name counters in the configuration, or raise most", ErrMost, terms.Name))
	default:
		c.made[name] = by
	}
	return terms, nil
}

// openTime is how long opening a counter may take.
const openTime = 10 * time.Second

// Handle returns the handle on a counter of this space, and creates the counter if need be. Callers who come while it is
// being opened share it, and callers of other counters don't wait.
func (c *Counters) Handle(ctx context.Context, principal, name string) (*counter.Counter, error) {
	c.mu.Lock()
	h := c.handles[name]
	c.mu.Unlock()
	if h != nil {
		return h, nil
	}
	terms, err := c.admit(ctx, principal, name)
	if err != nil {
		return nil, err
	}
	opened := c.opening.DoChan(name, func() (any, error) { return c.open(name, terms) })
	select {
	case r := <-opened:
		return r.Val.(*counter.Counter), r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// open opens a handle, without mu while it waits for the store.
func (c *Counters) open(name string, terms config.Counter) (*counter.Counter, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.handles[name]; h != nil {
		return h, nil
	}
	if c.closed {
		return nil, counter.ErrClosed
	}
	c.busy.Add(1)
	defer c.busy.Done()
	c.mu.Unlock()
	h, err := c.Open(ctx, name, append(asMade(terms), counter.OrCreate(), counter.WithLogger(c.logger))...)
	c.mu.Lock()
	if err != nil {
		return nil, err
	}
	if now, _ := config.ByName(c.terms, name); !reflect.DeepEqual(now, terms) {
		c.busy.Go(func() { h.Close() })
		return nil, fmt.Errorf("%w: the configuration has changed: try again", counter.ErrClosed)
	}
	c.handles[name] = h
	return h, nil
}

// Made creates a counter unless it exists.
func (c *Counters) Made(ctx context.Context, principal, name string) error {
	terms, err := c.admit(ctx, principal, name)
	if err != nil {
		return err
	}
	if _, err = c.Create(ctx, name, asMade(terms)...); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Close gives back the unused numbers of the handles.
func (c *Counters) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.busy.Wait()
	errs := make([]error, len(c.handles))
	for i, h := range slices.Collect(maps.Values(c.handles)) {
		c.busy.Go(func() { errs[i] = h.Close() })
	}
	c.busy.Wait()
	return errors.Join(errs...)
}
