package leasetest

import (
	"errors"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// The tests of leases that follow each other on the same nodes, and of clocks that are wrong.

func testTakeOver(w *testbed) {
	held := w.acquire(all, 2*time.Second)
	_, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Second})
	w.wantErr("Acquire in the first second of a lease on all nodes", err, lease.ErrNoRange)
	w.clock.Set(time.Unix(held.HighWater, 999_999_999))
	_, err = w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Second})
	w.wantErr("Acquire in its last second", err, lease.ErrNoRange)
	next := w.afterEnd(held)
	if next.Start <= held.HighWater {
		w.Errorf("%+v was taken over by %+v: want a start after %d", held, next, held.HighWater)
	}
	if next.Owner == held.Owner || next.Version <= held.Version {
		w.Errorf("%+v was taken over by %+v: want another owner, a higher version", held, next)
	}
	w.wantLost("taken over", w.Source, held, false)
	if got := w.only(); !same(got, next) {
		w.Errorf("the store has %+v, want %+v", got, next)
	}
}

// afterEnd waits until held is over and acquires its range.
func (w *testbed) afterEnd(held lease.Record) lease.Record {
	w.Helper()
	for range 200 {
		rec, err := w.Acquire(w.ctx, lease.Request{Nodes: held.Nodes(), TTL: time.Minute})
		if err == nil {
			return rec
		}
		if !errors.Is(err, lease.ErrNoRange) {
			w.Fatalf("Acquire: %v", err)
		}
		w.clock.Advance(time.Second / 10)
	}
	w.Fatalf("%+v was not given to anybody else in 20 seconds", held)
	panic("unreachable")
}

func testReleasedThisSecond(w *testbed) {
	var h History
	held := w.acquire(all, time.Minute)
	used := held.Start
	for range 3 {
		h.Granted(held)
		h.Released(held, time.Unix(used, 0))
		w.release(held, used)
		held = w.acquire(all, time.Minute)
		if held.Start <= used {
			w.Errorf("released with second %d used, granted again from %d", used, held.Start)
		}
		used = held.Start
	}
	h.Granted(held)
	if err := h.Check(); err != nil {
		w.Error(err)
	}
}

func testClockBack(w *testbed) {
	for _, back := range []time.Duration{time.Second, 50 * time.Minute} {
		held := w.acquire(all, time.Minute)
		w.clock.Advance(-back)

		renewed := w.renew(held, time.Minute)
		if renewed.HighWater != held.HighWater {
			w.Errorf("clock back %v: Renew moved the high-water mark from %d to %d", back, held.HighWater, renewed.HighWater)
		}
		_, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute})
		w.wantErr("Acquire with the clock back", err, lease.ErrNoRange)

		w.release(renewed, renewed.Start)
		next := w.acquire(all, time.Minute)
		if next.Start != renewed.Start+1 {
			w.Errorf("clock back %v: second %d used, granted again from %d, want right after", back, renewed.Start, next.Start)
		}
		w.release(next, next.Start)
		w.clock.Set(time.Unix(next.Start+10, 0))
	}
}

func testClockAheadAndBack(w *testbed) {
	const year = 365 * 24 * time.Hour
	w.clock.Advance(year)
	poisoned := w.acquire(all/2, time.Minute)
	w.release(poisoned, poisoned.Start)
	w.clock.Advance(-year)

	second := w.acquire(all/2, time.Minute)
	if second.FirstNode == poisoned.FirstNode {
		w.Fatalf("granted the range that a wrong clock marked, %+v, as %+v", poisoned, second)
	}
	_, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	w.wantErr("Acquire beside a range that a wrong clock marked", err, lease.ErrNoRange)
	if err != nil && !strings.Contains(err.Error(), "clock") {
		w.Errorf("error %q does not say that a clock was wrong", err)
	}

	w.clock.Advance(year + time.Minute)
	w.release(second, second.Start)
	third, fourth := w.acquire(all/2, time.Minute), w.acquire(all/2, time.Minute)
	for _, rec := range []lease.Record{third, fourth} {
		if rec.FirstNode == poisoned.FirstNode && rec.Start <= poisoned.Start {
			w.Errorf("second %d was used, granted again from %d", poisoned.Start, rec.Start)
		}
	}
}

func testReportLoss(w *testbed) {
	reportLoss := func() {
		w.Helper()
		if err := w.ReportLoss(w.ctx); err != nil {
			w.Fatalf("ReportLoss: %v", err)
		}
	}
	held, other := w.acquire(1, time.Minute), w.handle()
	renewed := w.renew(held, 2*time.Minute)
	floor := w.now() + limits.TTL() + limits.Skew()
	reportLoss()
	for _, s := range []lease.Source{w.Source, other, w.handle()} {
		rec, err := s.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute})
		w.wantErr("Acquire after ReportLoss", err, lease.ErrNoRange)
		if err == nil {
			w.Errorf("granted %+v", rec)
		}
		_, err = s.Renew(w.ctx, renewed, w.renewal(time.Minute))
		w.wantErr("Renew of a lease older than ReportLoss", err, lease.ErrLost)
		got, err := s.Lookup(w.ctx, held)
		if err != nil || got.Version != renewed.Version || got.HighWater != held.HighWater {
			w.Errorf("Lookup of a lease older than ReportLoss: %+v, %v; want version %d, and no later end than %d, which is known",
				got, err, renewed.Version, held.HighWater)
		}
	}
	w.release(renewed, held.Start)
	w.clock.Advance(-time.Minute)
	reportLoss() // the floor never goes down
	w.clock.Set(time.Unix(floor-10, 0))
	rec := w.acquire(1, time.Minute)
	if rec.Start != floor {
		w.Errorf("granted from %d, want %d, when all that was forgotten has ended", rec.Start, floor)
	}
	w.renew(rec, time.Minute)
}

func testClockBeforeEpoch(w *testbed) {
	held := w.acquire(1, time.Minute)
	w.clock.Set(time.Unix(1000, 0))
	if rec, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute}); err == nil {
		w.Errorf("with the clock in 1970 Acquire granted %+v", rec)
	}
	if got := w.only(); !same(got, held) {
		w.Errorf("refused calls changed %+v to %+v", held, got)
	}
}

func testEndOfLife(w *testbed) {
	w.clock.Set(time.Unix(randflake.MaxTimestamp-9, 0))
	held := w.acquire(1, time.Minute)
	if held.HighWater != randflake.MaxTimestamp {
		w.Errorf("a minute from %d reaches %d, want %d, the format's last second", held.Start, held.HighWater, randflake.MaxTimestamp)
	}
	if got := w.renew(held, time.Hour); got.HighWater != randflake.MaxTimestamp {
		w.Errorf("Renew raised the high-water mark to %d, want %d at most", got.HighWater, randflake.MaxTimestamp)
	}
	w.clock.Set(time.Unix(randflake.MaxTimestamp+1, 0))
	_, err := w.Acquire(w.ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	w.wantErr("Acquire after the format's end", err, randflake.ErrEndOfLife)
}
