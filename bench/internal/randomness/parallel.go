package randomness

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls f with 0 to n-1, on all processors, until ctx ends.
func parallel(ctx context.Context, n int, f func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
