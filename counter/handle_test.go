package counter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

// A store has one counter, whose runs a test holds back, cuts short or refuses.
type store struct {
	Source // of which handles call Counter and TakeNumbers only

	mu    sync.Mutex
	next  int64
	asked []int64                                           // how many numbers each call asked for
	take  func(ctx context.Context, n int64) (int64, error) // how many to give, nil for all
}

func (s *store) Counter(ctx context.Context, name string) (lease.Counter, error) {
	return lease.Counter{Name: name, Next: 1, Start: 1, Step: 1, Last: math.MaxInt64}, nil
}

func (s *store) TakeNumbers(ctx context.Context, name string, period lease.Period, n int64) (lease.Run, error) {
	s.mu.Lock()
	s.asked = append(s.asked, n)
	take := s.take
	s.mu.Unlock()
	if take != nil {
		var err error
		if n, err = take(ctx, n); err != nil {
			return lease.Run{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next += n
	return lease.Run{First: s.next - n + 1, N: n, Step: 1}, nil
}

// set changes what calls get from now on.
func (s *store) set(take func(ctx context.Context, n int64) (int64, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take = take
}

// calls returns how many numbers each call asked for since it was last called.
func (s *store) calls() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func away(context.Context, int64) (int64, error) { return 0, errAway }

func (s *store) open(t *testing.T, options ...Option) *Counter {
	t.Helper()
	c, err := From(s).Open(t.Context(), "orders", append([]Option{quiet}, options...)...)
	require.NoError(t, err)
	return c
}

// take has a handle give n numbers.
func take(t *testing.T, c *Counter, n int) {
	t.Helper()
	for range n {
		_, err := c.Next()
		require.NoError(t, err)
	}
}

// TestClose: callers who wait and later calls get ErrClosed at once, and the status counts exactly what was
// given.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := s.open(t, WithRunLength(10, 10))
		s.set(away)
		take(t, c, 10)
		began := time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				n, err := c.Wait(t.Context())
				require.That(t, errors.Is(err, ErrClosed) && !errors.Is(err, ErrPending), "%d, %v", n, err)
			})
		}
		synctest.Wait()
		require.NoError(t, c.Close())
		all.Wait()
		require.Equal(t, time.Since(began), 0, "they waited")

		s.set(nil)
		s.calls()
		time.Sleep(time.Hour)
		require.Refuses(t, ErrClosed, "once it is closed")(c.Next())
		require.Refuses(t, ErrClosed, "once it is closed")(c.Wait(t.Context()))
		synctest.Wait()
		require.Equal(t, len(s.calls()), 0, "calls of a closed handle")
	})
	for given := range 4 {
		c := (&store{}).open(t, WithRunLength(3, 3))
		take(t, c, given)
		for range 2 {
			require.NoError(t, c.Close())
			got := c.Status()
			require.That(t, got.Issued == uint64(given) && got.Held == 0, "%+v, after %d numbers", got, given)
			require.Refuses(t, ErrClosed, "after %d numbers, though the next run may be there", given)(c.Next())
		}
	}
}

// TestCloseWhileOthersTake: a call that has found its run before Close gets a number that the status counts,
// or ErrClosed.
func TestCloseWhileOthersTake(t *testing.T) {
	c := (&store{}).open(t)
	found := c.current.Load()
	take(t, c, 4)
	require.NoError(t, c.Close())
	n, low := found.take(make([]int64, 3))
	require.That(t, n == 0 && !low, "%d numbers of a closed run", n)
	require.Refuses(t, ErrClosed, "by the run that it had found")(c.nextFromLow(found, found.given.Add(1)-1))
	got := c.Status()
	require.That(t, got.Issued == 4, "%+v", got)
}

// TestTake: a run gives each of its numbers once, in order, and whoever gets the one at the low mark learns it.
func TestTake(t *testing.T) {
	for _, tt := range []struct {
		given uint64
		n     int
		want  string
		low   bool
	}{
		{0, 0, "[]", false},
		{0, 2, "[100 105]", false},
		{0, 3, "[100 105 110]", true},
		{2, 1, "[110]", true},
		{2, 0, "[]", false},
		{3, 1, "[115]", false},
		{1, 9, "[105 110 115]", true},
		{3, 2, "[115]", false},
		{4, 1, "[]", false},
		{9, 1, "[]", false},
		{beyondAll, 1, "[]", false},
	} {
		b := &run{first: 100, step: 5, count: 4, low: 2}
		b.given.Store(tt.given)
		dst := make([]int64, tt.n)
		n, low := b.take(dst)
		require.That(t, fmt.Sprint(dst[:n]) == tt.want && low == tt.low,
			"%d after %d: %d, %v, want %s, %v", tt.n, tt.given, dst[:n], low, tt.want, tt.low)
	}
}

// TestPending: before the next run is there, calls return ErrPending as it is. A handle whose callers found
// no number takes one more run as soon as the next one comes into use, and later runs at the half again.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := s.open(t, WithRunLength(10, 10))
		defer c.Close()
		dst := make([]int64, 12)
		n, err := c.Fill(dst)
		require.That(t, n == 10 && err == ErrPending && dst[9] == 10, "%d, %d, %v", n, dst, err)
		for i, want := range []uint64{
			9 + 10, // the run after is fetched at once
			8 + 10, 7 + 10, 6 + 10, 5 + 10, 4 + 10, 3 + 10, 2 + 10, 1 + 10, 0 + 10,
			9, 8, 7, 6, 5, // of a run that is fetched while there is enough, the half is given before
			4 + 10,
		} {
			synctest.Wait()
			take(t, c, 1)
			synctest.Wait()
			got := c.Status()
			require.That(t, got.Held == want, "%d are left after %d, want %d", got.Held, i+1, want)
		}
	})
}

// TestFillWait: what was filled is counted, also if the wait fails.
func TestFillWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := s.open(t, WithRunLength(10, 10))
		defer c.Close()
		dst := make([]int64, 35)
		n, err := c.FillWait(t.Context(), dst)
		require.That(t, n == len(dst) && err == nil && dst[34] == 35, "%d, %d, %v", n, dst, err)
		synctest.Wait()
		s.set(away)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n, err = c.FillWait(ctx, dst)
		require.That(t, n == 15 && dst[14] == 50 && errors.Is(err, context.DeadlineExceeded) && errors.Is(err, errAway),
			"%d, %d, %v", n, dst[:n], err)
	})
}

// TestInTurn: who comes while others wait gets no number before them.
func TestInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := (&store{}).open(t)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go c.line.Wait(ctx, func() (time.Duration, error) { return time.Hour, ErrPending })
		synctest.Wait()
		require.Refuses(t, context.DeadlineExceeded, "behind the others")(c.Wait(ctx))
	})
}

// TestLasting: errors against which waiting does not help end a wait at once, and the store is asked again only
// for a caller.
func TestLasting(t *testing.T) {
	for _, want := range []error{
		lease.ErrCounterEnded,
		lease.ErrCounterLost,
		lease.ErrNoCounter,
		lease.ErrNoSpace,
		lease.ErrRetired,
		lease.ErrCorrupt,
		lease.ErrClock,
		lease.ErrInvalid,
		lease.ErrMismatch,
		fs.ErrClosed,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{}
			c := s.open(t, WithRunLength(4, 4))
			defer c.Close()
			s.set(func(context.Context, int64) (int64, error) { return 0, fmt.Errorf("sorry: %w", want) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			dst := make([]int64, 9)
			n, err := c.FillWait(ctx, dst)
			require.That(t, n == 4 && errors.Is(err, want) && !errors.Is(err, ErrPending),
				"%d, %v, want %v", n, err, want)
			got := c.Status().Err
			require.That(t, errors.Is(got, want), "the status shows %v", got)
			s.calls()
			time.Sleep(time.Hour)
			synctest.Wait()
			require.That(t, s.calls() == nil, "%v: asked again without a caller", want)

			s.set(nil)
			require.Refuses(t, want, "the call that asks")(c.Next())
			synctest.Wait()
			require.Gives(t, int64(5), "after the call that asked")(c.Next())
		})
	}
}

// An asking is what a log writes to. It looks at the counter that logs, which must hold up no caller.
type asking struct {
	bytes.Buffer
	counter *Counter
}

func (a *asking) Write(line []byte) (int, error) {
	a.counter.Status()
	return a.Buffer.Write(line)
}

// TestRetries: while the store fails a handle asks it again by itself, ever less often and at most twice in
// 10 seconds, however many calls there are. It logs the first failure and the end of them, and holds up no
// caller meanwhile.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		text := &asking{}
		c := s.open(t, WithRunLength(2, 2), WithLogger(slog.New(slog.NewTextHandler(text, nil))))
		text.counter = c
		defer c.Close()
		take(t, c, 2)
		for _, callers := range []bool{false, true} {
			synctest.Wait()
			s.set(away)
			take(t, c, 2)
			s.calls()
			for range 600 {
				time.Sleep(100 * time.Millisecond)
				if callers {
					if _, err := c.Next(); !errors.Is(err, ErrPending) || !errors.Is(err, errAway) {
						t.Fatal(err)
					}
				}
			}
			n := len(s.calls())
			require.That(t, n >= 10 && n <= 20, "asked %d times in a minute", n)
			got := c.Status().Err
			require.That(t, errors.Is(got, errAway), "the status shows %v", got)
			s.set(nil)
			time.Sleep(10 * time.Second)
			require.Equal(t, c.Status().Err, nil, "the status, once there are numbers again")
			take(t, c, 2)
		}
		synctest.Wait()
		for what, want := range map[string]int{"gets no more numbers": 2, "gets numbers again": 2, "counter=orders": 4} {
			require.Equal(t, strings.Count(text.String(), what), want, "logged %q times", what)
		}
	})
}

func TestRetryPause(t *testing.T) {
	for failures, longest := range map[int]time.Duration{
		1:    100 * time.Millisecond,
		3:    400 * time.Millisecond,
		8:    10 * time.Second,
		1000: 10 * time.Second,
	} {
		for range 100 {
			got := retryPause(failures)
			require.That(t, got >= longest/2 && got < longest, "after %d failures a pause of %v, want at most %v", failures, got, longest)
		}
	}
}

// TestGrowth: runs grow until one lasts for ten seconds, and shrink when there are fewer calls.
func TestGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := s.open(t)
		defer c.Close()
		for _, phase := range []struct {
			pause time.Duration // from one number to the next
			want  int64
		}{
			{time.Millisecond, 10_000},
			{100 * time.Millisecond, 100},
			{time.Hour, 10},
		} {
			for range 60_000 {
				time.Sleep(phase.pause)
				_, err := c.Wait(t.Context())
				require.NoError(t, err)
			}
			synctest.Wait()
			calls := s.calls()
			last := calls[len(calls)-1]
			require.That(t, last == phase.want || last == phase.want-1,
				"a number each %v: a run of %d at last, want %d", phase.pause, last, phase.want)
		}
	})
}

// TestStuck: only one call of the store is under way, and it ends after ten seconds.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := s.open(t, WithRunLength(2, 2))
		defer c.Close()
		s.set(func(ctx context.Context, n int64) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		s.calls()
		take(t, c, 2)
		ctx, cancel := context.WithTimeout(t.Context(), 9999*time.Millisecond)
		defer cancel()
		_, err := c.Wait(ctx)
		require.That(t, errors.Is(err, ErrPending) && c.Status().Err == nil, "%v, %+v", err, c.Status())
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.ErrorIs(t, c.Status().Err, context.DeadlineExceeded, "status")
		calls := s.calls()
		require.That(t, len(calls) == 1, "%d calls at a time", len(calls))
	})
}

// TestWrongNumber: a source that gives no number without an error, or too many, has broken its promise. Callers
// learn that, and the source is not asked without a pause.
func TestWrongNumber(t *testing.T) {
	for _, given := range []int64{-1, 0, 11} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{}
			c := s.open(t, WithRunLength(10, 10))
			defer c.Close()
			strict := s.openStrict(t)
			s.set(func(context.Context, int64) (int64, error) { return given, nil })
			want := fmt.Sprintf("counter: orders: the source gave %d numbers: want 1 to", given)
			_, err := From(s).Open(t.Context(), "orders", WithRunLength(10, 10))
			require.Contains(t, fmt.Sprint(err), want, "Open")
			_, err = strict.Next(t.Context())
			require.Contains(t, fmt.Sprint(err), want, "Strict")
			s.calls()
			take(t, c, 10)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err = c.Wait(ctx)
			require.Contains(t, fmt.Sprint(err), want, "Wait")
			calls := len(s.calls())
			require.That(t, calls <= 20, "%d calls in a minute", calls)
		})
	}
}

// What nobody made says so.
func TestNobodyMade(t *testing.T) {
	ctx := t.Context()
	one := make([]int64, 1)
	tests := map[string][]func(){}
	for _, c := range []*Counter{nil, new(Counter)} {
		const want = "counter: no Counter, or the zero one: make one with Open"
		tests[want] = append(tests[want],
			func() { c.Next() },
			func() { c.Fill(one) },
			func() { c.Wait(ctx) },
			func() { c.FillWait(ctx, one) },
			func() { c.Close() },
			func() { c.Status() },
		)
	}
	for _, s := range []*Strict{nil, new(Strict)} {
		const want = "counter: no Strict, or the zero one: make one with OpenStrict"
		tests[want] = append(tests[want],
			func() { s.Next(ctx) },
			func() { s.Fill(ctx, nil) },
			func() { s.Close() },
			func() { s.Status() },
		)
	}
	for _, cs := range []*Counters{nil, new(Counters)} {
		const want = "counter: no Counters, or zero ones: make some with From"
		tests[want] = append(tests[want],
			func() { cs.Open(ctx, "orders") },
			func() { cs.OpenStrict(ctx, "orders") },
			func() { cs.Create(ctx, "orders", Config{}) },
		)
	}
	for want, calls := range tests {
		for i, call := range calls {
			func() {
				defer func() {
					require.Equal(t, recover(), any(want), "call %d panics with", i)
				}()
				call()
			}()
		}
	}
}
