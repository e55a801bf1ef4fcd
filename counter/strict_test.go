package counter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

func (s *store) openStrict(t *testing.T) *Strict {
	t.Helper()
	strict, err := From(s).OpenStrict(t.Context(), "orders", quiet)
	require.NoError(t, err)
	return strict
}

// hold has the store's calls wait until the channel is closed.
func (s *store) hold() chan struct{} {
	held := make(chan struct{})
	s.set(func(ctx context.Context, n int64) (int64, error) {
		<-held
		return n, nil
	})
	return held
}

// TestStrictGone: a caller whose context ends during a call of the store loses numbers, which are not written
// to its dst any more. One who leaves before that takes none.
func TestStrictGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		strict := s.openStrict(t)
		held := s.hold()
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		dst := make([]int64, 2)
		require.Refuses(t, cause, "while its call is under way")(strict.Fill(ctx, dst))
		later, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		require.Refuses(t, cause, "while another's call is under way")(strict.Fill(later, make([]int64, 50)))
		close(held)
		synctest.Wait()
		n, err := strict.Fill(ctx, dst)
		require.That(t, n == 0 && errors.Is(err, cause) && !strings.Contains(err.Error(), "stopped waiting"),
			"with a context that has ended: %d, %v", n, err)
		synctest.Wait()
		require.That(t, dst[0] == 0 && dst[1] == 0, "%d were written after the call", dst)
		require.Gives(t, int64(3), "after two that were lost")(strict.Next(t.Context()))
		require.Equal(t, strict.Status(), (Status{Taken: 3, Issued: 1}), "the status")
		require.Equal(t, fmt.Sprint(s.calls()), "[2 1]", "numbers asked for by each call")
	})
}

// A served context ends as soon as the caller has what it waits for.
type served struct {
	context.Context
	end func()
}

func newServed(t *testing.T) served {
	ctx, end := context.WithCancel(t.Context())
	return served{ctx, end}
}

func (s served) Done() <-chan struct{} {
	synctest.Wait()
	s.end()
	return s.Context.Done()
}

// TestStrictServed: a caller whose context ends just after it was served gets its number, or the
// error with which it was served.
func TestStrictServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		strict := s.openStrict(t)
		for want := range int64(50) { // as select draws
			require.Gives(t, want+1, "just after it was served")(strict.Next(newServed(t)))
		}
		s.set(func(context.Context, int64) (int64, error) { return 0, lease.ErrCounterEnded })
		for range 50 {
			require.Refuses(t, lease.ErrCounterEnded, "just after it was refused")(strict.Next(newServed(t)))
		}
	})
}

// TestStrictShort: callers who come while a call of the store is under way share the next one, in the order in
// which they came. Where it gives fewer numbers, the first callers get theirs, and the call after it serves the
// others or tells them why not.
func TestStrictShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		strict := s.openStrict(t)
		held := s.hold()
		type outcome struct {
			n   int
			dst string
			end bool
		}
		got := make([]outcome, 4)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() {
				dst := make([]int64, 2)
				n, err := strict.Fill(t.Context(), dst)
				got[i] = outcome{n, fmt.Sprint(dst[:n]), errors.Is(err, lease.ErrCounterEnded)}
			})
			synctest.Wait()
		}
		answers := []int64{3, 2, 0}
		s.set(func(context.Context, int64) (int64, error) {
			n := answers[0]
			answers = answers[1:]
			if n == 0 {
				return 0, fmt.Errorf("%w: so it is", lease.ErrCounterEnded)
			}
			return n, nil
		})
		close(held)
		all.Wait()
		want := []outcome{{2, "[1 2]", false}, {2, "[3 4]", false}, {2, "[5 6]", false}, {1, "[7]", true}}
		require.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "callers get")
		require.Equal(t, fmt.Sprint(s.calls()), "[2 6 3 1]", "numbers asked for by each call")
		status := strict.Status()
		require.That(t, status.Taken == 7 && status.Issued == 7 && errors.Is(status.Err, lease.ErrCounterEnded), "%+v", status)
		s.set(nil)
		require.Gives(t, int64(8), "once there are numbers again")(strict.Next(t.Context()))
		require.Equal(t, strict.Status().Err, nil, "the status, once there are numbers again")
	})
}

// TestStrictClose: who waits already is served, later calls are not.
func TestStrictClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		strict := s.openStrict(t)
		held := s.hold()
		var all sync.WaitGroup
		all.Go(func() {
			require.Gives(t, int64(1), "who waits already")(strict.Next(t.Context()))
		})
		synctest.Wait()
		require.NoError(t, strict.Close())
		require.Refuses(t, ErrClosed, "once it is closed")(strict.Fill(t.Context(), make([]int64, 1)))
		close(held)
		all.Wait()
		require.Gives(t, 0, "nothing asked for")(strict.Fill(t.Context(), nil))
	})
}

// TestStrictStuck: a call of the store ends after ten seconds, and its callers learn that.
func TestStrictStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		strict := s.openStrict(t)
		s.set(func(ctx context.Context, n int64) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		began := time.Now()
		require.Refuses(t, context.DeadlineExceeded, "Next")(strict.Next(t.Context()))
		require.Equal(t, time.Since(began), 10*time.Second, "Next takes")
	})
}
