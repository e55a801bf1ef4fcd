// Package worker makes the IDs of drop-ins for other Snowflakes, of whose worker numbers the caller has one, or leases one.
package worker

import (
	"context"
	"errors"
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
}

// A series is what all IDs of a number have in common.
type series struct {
	layout string
	number uint32
}

var (
	mu         sync.Mutex
	generators = map[series]*snowflake.Generator{} // guarded by mu
)

var began = time.Now()

// now is the time when the process began, and what has passed since by the monotonic clock: a step of the system's clock has no effect.
func now() time.Time { return began.Add(time.Since(began)) }

// Own returns a Worker with the caller's own number. In a process all Workers of a layout and a number share one generator.
func Own(layout *snowflake.Layout, number uint32) (*Worker, error) {
	mu.Lock()
	defer mu.Unlock()
	of := series{layout.String(), number}
	if generator := generators[of]; generator != nil {
		return &Worker{generator: generator}, nil
	}
	always := snowflake.Forever(number)
	always.Start = time.Unix(0, 0) // formats can be older, and clocks in tests as well
	generator, err := snowflake.New(layout, always, snowflake.WithClock(now))
	if err != nil {
		return nil, err
	}
	generators[of] = generator
	return &Worker{generator: generator}, nil
}

// Keep returns a Worker with a number that is leased. Its errors are those of snowflake.Keep.
func Keep(ctx context.Context, space lease.Source, layout *snowflake.Layout, options []lease.Option) (*Worker, error) {
	keeper, err := snowflake.Keep(ctx, space, layout, snowflake.Leasing(options...))
	if err != nil {
		return nil, err
	}
	return &Worker{keeper.Generator(), keeper}, nil
}

// Close ends the lease of a Worker of Keep. For one of Own it does nothing.
func (w *Worker) Close() {
	if w.keeper != nil {
		w.keeper.Close()
	}
}

// pause is how long Next sleeps before it looks again whether the keeper has another lease.
const pause = 10 * time.Millisecond

// Next returns a new ID, for which it waits: for the next unit of time, for a clock that stepped back, and for another lease if the
// store was away. It returns an error where waiting doesn't help.
func (w *Worker) Next() (snowflake.ID, error) {
	for {
		id, err := w.generator.Wait(context.Background())
		if err == nil || !w.awaitsLease(err) {
			return id, err
		}
		time.Sleep(pause)
	}
}

// awaitsLease reports whether IDs that ended with err go on as soon as the keeper has another lease, and whether that can be.
func (w *Worker) awaitsLease(err error) bool {
	if w.keeper == nil || !errors.Is(err, randflake.ErrLeaseEnded) {
		return false
	}
	return !errors.Is(w.keeper.Status().Err, lease.ErrRetired)
}
