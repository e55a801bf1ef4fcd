package etcd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/lease"
)

// checkUsable returns why no call can be made, or nil. The first time it asks all members for their
// release, and refuses a cluster with one that is too old. It passes over members that have not
// answered half a second after another one did.
func (e *Engine) checkUsable(ctx context.Context) error {
	if e.closed.Load() {
		return e.explain(ctx, "use", fs.ErrClosed)
	}
	if ctx.Err() != nil || e.checked.Load() {
		return ctx.Err()
	}
	soon, cancel := context.WithCancel(ctx)
	defer cancel()
	verdicts := make([]error, len(e.client.Endpoints()))
	var wg sync.WaitGroup
	for i, endpoint := range e.client.Endpoints() {
		wg.Go(func() {
			status, err := e.client.Status(soon, endpoint)
			if err == nil {
				time.AfterFunc(500*time.Millisecond, cancel)
				err = checkVersion(endpoint, status.Version)
			}
			verdicts[i] = err
		})
	}
	wg.Wait()
	err := errors.Join(verdicts...)
	if !slices.Contains(verdicts, nil) || errors.Is(err, lease.ErrUnsafe) {
		return e.explain(ctx, "check the release", err)
	}
	e.checked.Store(true)
	return nil
}

// checkVersion refuses releases that may forget in a crash what the only member acknowledged (etcd
// issue 14370).
func checkVersion(endpoint, version string) error {
	var v [3]int
	_, err := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	if err != nil || slices.Compare(v[:], []int{3, 5, 5}) < 0 {
		return fmt.Errorf("%s: %w: its version is %q, want 3.5.5 or newer: "+
			"older ones may lose what they acknowledged in a crash: upgrade it",
			endpoint, lease.ErrUnsafe, version)
	}
	return nil
}
