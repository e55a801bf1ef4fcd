package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

var errNone = errors.New("none left")

// A tap gives n drops each second, from the next one on. A queue calls try once at a time.
type tap struct {
	n      int
	second int64 // of the last try
	left   int   // drops in that second
	tries  int
}

func (t *tap) try() (pause time.Duration, err error) {
	t.tries++
	now := time.Now()
	if now.Unix() > t.second {
		t.second = now.Unix()
		t.left = t.n
	}
	if t.left == 0 {
		return time.Second - time.Duration(now.Nanosecond()), errNone
	}
	t.left--
	return 0, nil
}

// begin calls Wait in a goroutine, and returns once that waits or has returned. What it returns comes through the
// channel, and so does a panic, as an error.
func begin(ctx context.Context, q *Queue, try func() (time.Duration, error)) <-chan error {
	result := make(chan error, 1)
	go func() {
		defer func() {
			if value := recover(); value != nil {
				result <- fmt.Errorf("panic: %v", value)
			}
		}()
		result <- q.Wait(ctx, try)
	}()
	synctest.Wait()
	return result
}

// wantEmpty checks that no caller waits, and no timer.
func wantEmpty(t *testing.T, q *Queue) {
	t.Helper()
	require.That(t, q.Empty() && q.timer == nil, "the line is empty: %v; its timer: %v", q.Empty(), q.timer)
}

// Those who wait are served in the order in which they came.
func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		water := tap{n: 3, second: time.Now().Unix()}
		var served []int
		for i := range 10 {
			begin(t.Context(), q, func() (pause time.Duration, err error) {
				pause, err = water.try()
				if err == nil {
					served = append(served, i)
				}
				return pause, err
			})
		}
		for second := 1; second <= 4; second++ {
			time.Sleep(time.Second)
			synctest.Wait()
			want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}[:min(3*second, 10)]
			q.mu.Lock()
			require.That(t, slices.Equal(served, want), "after %d s served %v, want %v", second, served, want)
			q.mu.Unlock()
		}
		// Each tries when it comes and when it is served, and the first in line once a second.
		require.That(t, q.Empty() && water.tries <= 10+10+4, "%d tries", water.tries)
	})
}

// Those who leave the line hold up no other, be it from the head or from the middle. An empty line
// has no timer, which would keep what it serves in memory.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		water := tap{n: 1, second: time.Now().Unix()}
		enough := errors.New("enough")
		leaving, leave := context.WithCancelCause(t.Context())
		var results [4]<-chan error
		for i := range results {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = leaving
			}
			results[i] = begin(ctx, q, water.try)
		}
		time.Sleep(time.Second / 2)
		leave(enough)
		for i, result := range results {
			err := <-result
			left := errors.Is(err, enough) && errors.Is(err, errNone)
			require.That(t, left == (i%2 == 0) && (left || err == nil), "%d: %v", i, err)
		}
		wantEmpty(t, q)
	})
}

// ends are functions that don't return.
var ends = map[string]func(){
	"panic":  func() { panic("oh") },
	"Goexit": runtime.Goexit,
}

// A function that panics or ends its goroutine takes its caller out of the line, whoever serves it;
// a panic reaches its caller.
func TestFunctionsThatDoNotReturn(t *testing.T) {
	for name, end := range ends {
		for _, by := range []string{"the timer", "another"} {
			synctest.Test(t, func(t *testing.T) {
				q := New("test")
				tries := 0 // the first two are the first caller's
				try := func() (time.Duration, error) {
					tries++
					switch tries {
					case 1:
						return time.Minute, errNone
					case 2:
						end()
					}
					return 0, errNone
				}
				first := begin(t.Context(), q, try)
				second := begin(t.Context(), q, try)
				if by == "another" {
					go q.Serve()
				}
				err := <-first
				isPanic := fmt.Sprint(err) == "panic: oh"
				require.That(t, err != nil && err != errNone && isPanic == (name == "panic"),
					"%s, served by %s: %v", name, by, err)
				err = <-second
				require.That(t, err == errNone && q.Empty(), "%s, served by %s: the second one: %v", name, by, err)
			})
		}
	}
}

// Callers in a bubble and outside wait for the same, at once: neither touches the timers and channels of the other.
func TestBubbleBeside(t *testing.T) {
	for range 20 {
		q := New("test")
		var inside, free atomic.Bool
		try := func() (time.Duration, error) {
			if free.Load() {
				return 0, nil
			}
			return time.Millisecond, errNone
		}
		var outside sync.WaitGroup
		for range 2 {
			outside.Go(func() {
				for !inside.Load() {
					runtime.Gosched()
				}
				require.ErrorIs(t, q.Wait(t.Context(), try), nil, "Wait outside")
			})
		}
		outside.Go(func() {
			for !free.Load() {
				q.Serve()
				runtime.Gosched()
			}
		})
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			tries := 0
			err := q.Wait(ctx, func() (time.Duration, error) {
				tries++
				if tries > 10 {
					inside.Store(true)
				}
				return try()
			})
			require.That(t, errors.Is(err, context.DeadlineExceeded) && errors.Is(err, errNone),
				"a deadline of the bubble: %v", err)
			for q.Empty() { // until one waits outside
				runtime.Gosched()
			}
			q.Serve()
			time.AfterFunc(time.Second, func() { free.Store(true) })
			require.ErrorIs(t, q.Wait(t.Context(), try), nil, "Wait in the bubble")
		})
		outside.Wait()
	}
}

// A queue of a bubble has callers there, and Serve is called outside.
func TestServedOutside(t *testing.T) {
	queues := make(chan *Queue)
	var over atomic.Bool
	var outside sync.WaitGroup
	outside.Go(func() {
		q := <-queues
		for !over.Load() {
			q.Serve()
			runtime.Gosched()
		}
	})
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		queues <- q
		for range 100 {
			tries := 0
			err := q.Wait(t.Context(), func() (time.Duration, error) {
				tries++
				if tries > 100 {
					return 0, errNone
				}
				return time.Second, errNone
			})
			require.ErrorIs(t, err, errNone, "Wait")
		}
	})
	over.Store(true)
	outside.Wait()
}

// A caller whom Serve does not reach, as it waits in a bubble and the queue is outside, tries again
// each second, until waiting does not help any more.
func TestAlone(t *testing.T) {
	q := New("test")
	over := errors.New("over")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var come atomic.Bool
		time.AfterFunc(time.Minute, func() {
			come.Store(true)
			q.Serve()
		})
		err := q.Wait(t.Context(), func() (time.Duration, error) {
			if come.Load() {
				return -1, over
			}
			return time.Hour, errNone
		})
		waited := time.Since(began)
		require.That(t, err == over && waited <= time.Minute+time.Second, "served after %v: %v", waited, err)
	})
}

// A lone function that does not return leaves neither a lock nor a timer behind.
func TestLoneFunctionThatDoesNotReturn(t *testing.T) {
	for name, end := range ends {
		outside := New("test")
		synctest.Test(t, func(t *testing.T) {
			over, cancel := context.WithCancel(t.Context())
			cancel()
			for where, q := range map[string]*Queue{"alone": outside, "in line": New("test")} {
				begin(t.Context(), q, func() (time.Duration, error) {
					end()
					return 0, nil
				})
				wantEmpty(t, q)
				err := q.Wait(over, func() (time.Duration, error) { return time.Hour, errNone })
				require.ErrorIs(t, err, errNone, "%s, %s", name, where)
			}
		})
	}
}

// A call whose context ends while it is being served gets what it was served with.
func TestServedAtTheEnd(t *testing.T) {
	over := errors.New("over")
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		tries := 0
		ctx, cancel := context.WithCancel(t.Context())
		result := begin(ctx, q, func() (time.Duration, error) {
			tries++
			if tries == 1 {
				return time.Hour, errNone
			}
			cancel() // and now it waits for the line, to leave it
			return -1, over
		})
		q.Serve()
		require.Equal(t, <-result, over, "Wait")
		wantEmpty(t, q)
	})
}

// There is one timer, however often the line is served and whoever leaves it: each call tries when
// it comes, when the line is served, and when its own pause is over.
func TestOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New("test")
		var tries atomic.Int64
		try := func() (time.Duration, error) {
			tries.Add(1)
			return time.Hour, errNone
		}
		want := func(n int64, after time.Duration) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			require.Equal(t, tries.Load(), n, "tries")
		}

		ctx, cancel := context.WithCancel(t.Context())
		begin(ctx, q, try)
		want(1, time.Minute)
		for range 100 {
			q.Serve()
		}
		want(101, 59*time.Minute)
		want(102, time.Minute)
		want(102, 30*time.Minute)

		cancel()
		synctest.Wait()
		begin(t.Context(), q, try)
		want(103, 59*time.Minute)
		want(104, time.Minute)
	})
}

// A caller does not spin while a clock stands still just before the next second.
func TestShortPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		tries := 0
		New("test").Wait(ctx, func() (time.Duration, error) {
			tries++
			if tries > 20_000 {
				cancel()
			}
			return 1, errNone
		})
		require.That(t, tries <= 10_010, "%d tries in a second", tries)
	})
}
