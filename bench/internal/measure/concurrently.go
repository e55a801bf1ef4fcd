package measure

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A Caller calls a server, and waits for the answer.
type Caller func(context.Context) error

// Concurrently has all callers call for a while, again and again and once at least, and returns how often they did together, and
// how long it took.
func Concurrently(ctx context.Context, callers []Caller, slice time.Duration) (calls int64, took time.Duration, err error) {
	var over atomic.Bool
	var sum atomic.Int64
	failed := make([]error, len(callers))
	var all sync.WaitGroup
	start := time.Now()
	defer time.AfterFunc(slice, func() { over.Store(true) }).Stop()
	for i, call := range callers {
		all.Go(func() {
			for n := int64(1); ; n++ {
				if failed[i] = call(ctx); failed[i] != nil {
					return
				}
				if over.Load() {
					sum.Add(n)
					return
				}
			}
		})
	}
	all.Wait()
	return sum.Load(), time.Since(start), errors.Join(failed...)
}
