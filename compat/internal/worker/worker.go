// Package worker makes the IDs of drop-ins for other Snowflakes, of whose worker numbers the caller
// has one, or leases one.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// A Worker makes IDs. It is safe for concurrent use.
type Worker struct {
	generator *snowflake.Generator
	keeper    *lease.Keeper[*snowflake.Generator] // nil if the number is the caller's own
	space     *space                              // of the keeper
}

// A key tells generators apart: no two have the same one.
type key struct {
	layout string
	number uint32
}

// A process can have numbers of its own and a space for one layout. Then Keep leaves out the
// numbers that Own has given away, and while there are Workers of Keep, Own gives away no more of
// those that the space leases.
var (
	mu         sync.Mutex                       // guards what follows
	generators = map[key]*snowflake.Generator{} // those of Own
	spaces     = map[*space]bool{}              // those of Keep, until Close
	lastUsed   = map[string]time.Time{}         // by layout, the last second in any ID of Keep's closed Workers
)

var began = time.Now()

// now is the time when the process began, and what has passed since by the monotonic clock: a step
// of the system's clock has no effect.
func now() time.Time { return began.Add(time.Since(began)) }

// Own returns a Worker with the caller's own number. In a process all Workers of a layout and a
// number share one generator. It returns an error if a Worker of Keep can have the number.
func Own(layout *snowflake.Layout, number uint32) (*Worker, error) {
	mu.Lock()
	defer mu.Unlock()
	k := key{layout.String(), number}
	if generator := generators[k]; generator != nil {
		return &Worker{generator: generator}, nil
	}
	for s := range spaces {
		leased := s.Limits()
		if s.layout == k.layout && leased.FirstNode <= number && number <= leased.LastNode() {
			return nil, fmt.Errorf("snowflake: number %d is one of %d to %d, which Keep leases in this process: "+
				"take IDs from Keep alone, or keep a space of fewer nodes and take a number beyond them",
				number, leased.FirstNode, leased.LastNode())
		}
	}
	always := snowflake.Forever(number)
	always.Start = time.Unix(0, 0) // formats can be older, and clocks in tests as well
	if last, ok := lastUsed[k.layout]; ok {
		always.Start = last.Add(time.Second)
	}
	generator, err := snowflake.New(layout, always, snowflake.WithClock(now))
	if err != nil {
		return nil, err
	}
	generators[k] = generator
	return &Worker{generator: generator}, nil
}

// Keep returns a Worker with a number that is leased. Its errors are those of snowflake.Keep.
func Keep(ctx context.Context, source lease.Source, layout *snowflake.Layout, options []lease.Option) (*Worker, error) {
	s := &space{Source: source, layout: layout.String()}
	mu.Lock()
	s.findOwn()
	spaces[s] = true // from now on the process has no more numbers of its own in the space
	mu.Unlock()
	keeper, err := s.keep(ctx, layout, options)
	if err != nil {
		mu.Lock()
		delete(spaces, s)
		mu.Unlock()
		return nil, err
	}
	return &Worker{keeper.Generator(), keeper, s}, nil
}

// Close ends the lease of a Worker of Keep. For one of Own it does nothing.
func (w *Worker) Close() {
	if w.keeper == nil {
		return
	}
	w.keeper.Close()
	last, _ := w.generator.Close() // which says the same each time
	mu.Lock()
	defer mu.Unlock()
	delete(spaces, w.space)
	if last.After(lastUsed[w.space.layout]) {
		lastUsed[w.space.layout] = last
	}
}

// Layout returns the layout of the IDs.
func (w *Worker) Layout() *snowflake.Layout { return w.generator.Layout() }

// pause is how long Next sleeps before it looks again whether the keeper has another lease.
const pause = 10 * time.Millisecond

// Next returns a new ID, for which it waits: for the next unit of time, for a clock that stepped
// back, and for another lease if the store was away. It returns an error where waiting doesn't
// help.
func (w *Worker) Next() (snowflake.ID, error) {
	for {
		id, err := w.generator.Wait(context.Background())
		if err == nil || !w.awaitsLease(err) {
			return id, err
		}
		time.Sleep(pause)
	}
}

// awaitsLease reports whether IDs that ended with err go on as soon as the keeper has another
// lease, and whether that can be.
func (w *Worker) awaitsLease(err error) bool {
	if w.keeper == nil || !errors.Is(err, randflake.ErrLeaseEnded) {
		return false
	}
	return !errors.Is(w.keeper.Status().Err, lease.ErrRetired)
}
