package lease

import (
	"context"
	"math/rand/v2"
	"time"
)

// A pace says when the background goroutine may and must act. Its times are real ones, whatever the generator's clock
// shows.
type pace struct {
	shortest, longest time.Duration // bounds of backoff
	backoff           time.Duration // the pause after the next act that is not a calm one
	random            func() float64

	again time.Time // the next act is then, not before and not after; zero if it is free
	due   time.Time // act then even if nothing happens; zero for never
}

// newPace tries again after a sixtieth of the TTL, then less and less often, down to each sixth and half of that: when
// the store is back, the lease is within a quarter of the TTL. While a lease runs out it tries more often, so that IDs
// don't end if the store is back a thirtieth of the TTL before.
func newPace(s settings) pace {
	p := pace{
		shortest: max(s.ttl/60, time.Second),
		longest:  max(s.ttl/6, time.Second),
		random:   s.random,
	}
	p.backoff = p.shortest
	return p
}

// dueIn makes the next act due d from now, give or take a part of d.
func (p *pace) dueIn(d time.Duration, part float64) {
	p.due = time.Now().Add(time.Duration(float64(d) * (1 - part + 2*part*p.random())))
}

// acted notes an act. It is calm if nothing was wrong: then the next one is free to follow when it is due or wanted.
// After any other one there is a pause of one to one and a half times the backoff, also when all calls went well, for
// they may not have helped. The act after the pause finds out. No pause is longer than half of what is left of the lease,
// unless that is over.
func (p *pace) acted(calm bool, left time.Duration) {
	if calm {
		p.backoff = p.shortest
		p.again = time.Time{}
		return
	}
	pause := time.Duration(float64(p.backoff) * (1 + p.random()/2))
	if left > p.shortest {
		pause = min(pause, max(left/2, p.shortest))
	}
	p.again = time.Now().Add(pause)
	p.backoff = min(2*p.backoff, p.longest)
}

// wait returns when it is time to act: after the pause if there is one, otherwise when an act is due, or on wake. It
// returns false when ctx ends.
func (p *pace) wait(ctx context.Context, wake <-chan struct{}) bool {
	if !p.again.IsZero() {
		return waitUntil(ctx, p.again, nil)
	}
	return waitUntil(ctx, p.due, wake)
}

// isDue reports whether it is time to act though nothing happened.
func (p *pace) isDue() bool { return !p.due.IsZero() && !time.Now().Before(p.due) }

// waitUntil waits until t, or for ever if t is zero, or for wake. It returns false when ctx ends.
func waitUntil(ctx context.Context, t time.Time, wake <-chan struct{}) bool {
	var reached <-chan time.Time
	if !t.IsZero() {
		timer := time.NewTimer(time.Until(t))
		defer timer.Stop()
		reached = timer.C
	}
	select {
	case <-reached:
	case <-wake:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

func randomFloat() float64 { return rand.Float64() }
