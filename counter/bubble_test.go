package counter_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// inBubble runs test at a time that passes as soon as everybody waits.
func inBubble(t *testing.T, test func(t *testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))) // bubbles begin when no right clock is
		test(t)
	})
}

var errDown = errors.New("the server is down")

// A link is the way to an engine.
type link struct {
	latency time.Duration
	down    atomic.Bool
	calls   atomic.Int64
}

func (l *link) to(engine store.Engine) store.Engine {
	return storetest.Intercept(engine, func(ctx context.Context, c storetest.Call, engine store.Engine) (store.Answer, error) {
		l.calls.Add(1)
		time.Sleep(l.latency)
		if l.down.Load() {
			return store.Answer{}, errDown
		}
		return c.On(ctx, engine)
	})
}
