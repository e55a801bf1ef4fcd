package server

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/internal/test/require"
)

// TestReserve: answers that are not read use up the room of their principal, and leave some for
// others and for short answers.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsage()
		take := func(who string, n int64) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return u.reserve(ctx, who, n)
		}
		for _, who := range []string{"a", "b"} {
			for range 4 {
				require.Equal(t, take(who, roomOfOne/4), nil, "%s", who)
			}
			require.ErrorIs(t, take(who, roomOfOne/4), context.DeadlineExceeded, "%s takes more than its part", who)
			require.ErrorIs(t, take(who, negligible+1), context.DeadlineExceeded, "%s takes a little more than its part", who)
			require.Equal(t, take(who, negligible), nil, "%s can't take a few IDs", who)
		}
		for range 5 { // which use up nothing of its part
			require.ErrorIs(t, take("f", roomOfOne/4), context.DeadlineExceeded, "more than there is")
		}
		for range 2 {
			u.free("a", negligible) // which had taken no room
		}
		require.ErrorIs(t, take("a", negligible+1), context.DeadlineExceeded, "a few IDs give back what they did not take")
		go func() {
			time.Sleep(time.Second / 2)
			u.free("a", roomOfOne/4)
		}()
		err := take("f", roomOfOne/4)
		require.Must(t, err == nil, "an answer was written, and another one waits: %v", err)
		u.free("f", roomOfOne/4)
		require.Equal(t, take("a", roomOfOne/4), nil, "its answer was written, and it takes another one")
	})
}

// TestMay: calls are counted by who makes them, where, and under which limit, and come back with time.
func TestMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r rates
		for i, tt := range []struct {
			who, space string
			perSecond  float64
			want       bool
		}{
			{"web", "orders", 0.5, true},
			{"web", "orders", 0.5, true},
			{"web", "orders", 0.5, false},
			{"cron", "orders", 0.5, true},
			{"web", "shop", 0.5, true},
			{"web", "orders", 0.25, true},
		} {
			if got := r.allow(tt.who, rateLimit{calls, tt.space, tt.perSecond, 2}); got != tt.want {
				t.Errorf("%d: a call of %s in %s under %v a second: %v",
					i, tt.who, tt.space, tt.perSecond, got)
			}
		}
		time.Sleep(2 * time.Second)
		orders := rateLimit{calls, "orders", 0.5, 2}
		require.That(t, r.allow("web", orders) && !r.allow("web", orders), "two seconds later: want one call")
	})
}

// TestRefuse: calls of a principal are refused a few at a time, and those of another beside them.
// No more wait than may.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newUsage()
		begun := time.Now()
		gone, leave := context.WithCancel(t.Context())
		var greedy sync.WaitGroup
		for range maxQueued / 2 {
			greedy.Go(func() { u.waitInQueue(t.Context(), "greedy") })
			go u.waitInQueue(gone, "greedy")
		}
		synctest.Wait()
		require.That(t, !u.waitInQueue(t.Context(), "greedy") && time.Since(begun) == 0, "more calls wait than may")
		leave()
		synctest.Wait()
		require.That(t, u.waitInQueue(t.Context(), "web") && time.Since(begun) <= 2*refusalTime,
			"a call of another principal was refused after %v", time.Since(begun))
		greedy.Wait()
		const want = maxQueued / 2 / refusedAtOnce * refusalTime
		if took := time.Since(begun); took < want || took > want+refusalTime {
			t.Errorf("%d calls were refused within %v", maxQueued/2, took)
		}
	})
}
