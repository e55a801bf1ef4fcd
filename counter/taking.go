package counter

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

// A taker takes runs of one counter, one after the other, and resolves calls whose outcome was unknown.
type taker struct {
	counters *Counters
	name     string
	seen     *record // the newest state that was seen
	open     *record // the newest state that was proposed, when it is unknown whether it came true
	unsure   uint64  // numbers that may have been taken in this handle's name, which never found out
	strict   bool    // numbers of unknown outcome come too late
	late     uint64  // such numbers
}

// A supply gets runs of one counter, one after the other: a taker from the space itself, an asker from a [Source].
type supply interface {
	// take takes a run of up to n numbers. late counts numbers of earlier calls that turn out to have succeeded after
	// they were given up; they are lost.
	take(ctx context.Context, n uint64) (got positions, late uint64, err error)

	// giveBack gives back positions, sorted from old to new. Numbers that were late are given back or lost here.
	giveBack(ctx context.Context, all []positions) (returned, lost, late uint64, err error)

	// newest returns the newest state of the counter that was seen.
	newest() Info

	// doubtful returns how many numbers may have been taken by calls whose outcome is unknown.
	doubtful() uint64
}

// positions are the positions of a run, or of its rest, from first up to end.
type positions struct {
	first, end uint64

	life life // a taker's
	run  *Run // of an asker: the run whose last numbers these are
}

func (s positions) len() uint64 { return s.end - s.first }

// callTimeout bounds how long a call of the space may take.
const callTimeout = 10 * time.Second

// take takes a run of up to n numbers. If an earlier call, whose outcome was unknown, turns out to have taken a run,
// take returns that one.
func (t *taker) take(ctx context.Context, n uint64) (got positions, late uint64, err error) {
	began := time.Now()
	act := func(next *record) error { return next.take(n) }
	r, err := t.change(ctx, act)
	if errors.Is(err, store.ErrUnknownOutcome) { // finds out, and what the loss of data means for the counter
		r, err = t.change(ctx, act)
	}
	late, t.late = t.late, 0
	if err != nil {
		return positions{}, late, err
	}
	t.counters.calls.add(time.Since(began))
	return r.newestPositions(), late, nil
}

func (t *taker) newest() Info { return t.seen.info(t.name, t.seen.Generation) }

// newestPositions returns what the newest change took.
func (r *record) newestPositions() positions {
	return positions{first: r.Position - r.Run, end: r.Position, life: r.life()}
}

// giveBackOne gives back positions if they are the newest ones, and reports whether they were. If an earlier take,
// whose outcome was unknown, turns out to have taken a run, it returns that one instead.
func (t *taker) giveBackOne(ctx context.Context, s positions) (done bool, late positions, err error) {
	r, err := t.change(ctx, func(next *record) error {
		if next.life() != s.life {
			return errNotNewest
		}
		return next.giveBack(s.end, s.len())
	})
	switch {
	case errors.Is(err, errNotNewest), errors.Is(err, store.ErrUnknownOutcome): // once more could give back what others took since
		return false, positions{}, nil
	case err != nil:
		return false, positions{}, err
	case r.Run > 0:
		return false, r.newestPositions(), nil
	}
	return true, positions{}, nil
}

// change makes a change, or returns the current record if an earlier take turns out to have made it.
func (t *taker) change(ctx context.Context, act func(*record) error) (*record, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var proposed *record
	var short error // why a jump is all that could be made
	r, err := t.counters.update(ctx, t.name, t.seen, func(v *store.View, r *record) (*record, error) {
		short = nil
		if t.tookAlready(v, r) {
			if !t.strict {
				proposed = r
				return r, nil // put as it is, so that it is durable
			}
			t.late += r.Run
			t.open = nil
		}
		if r == nil && pruned(v.Meta, t.name) {
			return nil, errPruned
		}
		next, err := trusted(v, t.seen, r)
		if err != nil {
			return nil, err
		}
		if t.open != nil { // for the same version: one of the two at most comes true
			next.Token = t.open.Token
		}
		short = act(next)
		if jumped := r == nil || r.Generation != next.Generation; short != nil && !(jumped && errors.Is(short, ErrRate)) {
			return nil, short
		}
		proposed = next // a jump also where it has no number yet, for its rest begins with it
		return next, nil
	})
	if err == nil {
		t.seen, t.open = r, nil
		if short != nil {
			err = t.counters.explain(short, t.name)
		}
	} else if unknown := (protocol.UnknownError{}); errors.As(err, &unknown) && (proposed.Run > 0 || t.open != nil) {
		t.doubt(proposed)
	}
	return r, err
}

// doubt remembers a proposal whose outcome is unknown. An earlier proposal for the same version may still have been
// accepted in its place; one for a lower version can't.
func (t *taker) doubt(proposed *record) {
	switch again := *proposed; {
	case t.open == nil:
		t.open = &again
	case proposed.Version == t.open.Version:
		again.Run = max(again.Run, t.open.Run)
		t.open = &again
	}
}

func (t *taker) doubtful() uint64 {
	if t.open == nil {
		return t.unsure
	}
	return t.unsure + t.open.Run
}

// tookAlready reports whether the newest change of the record is the take of unknown outcome. Once that can no longer
// be found out, its numbers count as unsure.
func (t *taker) tookAlready(v *store.View, r *record) bool {
	same := t.open != nil && t.open.Generation == generation(v.Meta)
	switch {
	case t.open == nil || same && r != nil && r.Version < t.open.Version:
		return false
	case same && r != nil && r.Version == t.open.Version && r.Token == t.open.Token && r.Run > 0: // no return in its place
		return true
	case !same || r == nil || r.Version > t.open.Version:
		t.unsure += t.open.Run
	}
	t.open = nil
	return false
}

func (t *taker) giveBack(ctx context.Context, all []positions) (returned, lost, late uint64, err error) {
	if t.open != nil {
		all = append(all, positions{}) // finds out
	}
	for len(all) > 0 {
		last := all[len(all)-1]
		all = all[:len(all)-1]
		if n := len(all); n > 0 && all[n-1].end == last.first && all[n-1].life == last.life {
			all[n-1].end = last.end
			continue
		}
		done, found := false, positions{}
		if last.len() > 0 || t.open != nil {
			done, found, err = t.giveBackOne(ctx, last)
		}
		switch {
		case err != nil:
			lost += last.len()
			for _, s := range all {
				lost += s.len()
			}
			return returned, lost, late, err
		case found.len() > 0:
			late += found.len()
			all = append(all, last, found)
		case done:
			returned += last.len()
		default:
			lost += last.len()
		}
	}
	return returned, lost, late, nil
}

// At the current pace a run lasts for the duration lasting. The next run is fetched while the rest still lasts margin
// times as long as the slowest of the space's last calls. A run is at most growth times as large as the one before,
// since a burst is not a pace.
const (
	lasting = 10 * time.Second
	margin  = 5
	growth  = 16
)

// calls remembers how long the last calls of a space took, for all counters of the space.
type calls struct {
	mu   sync.Mutex
	took [64]time.Duration // of 64, the slowest is about the 99th percentile
	next int
}

func (c *calls) add(took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[c.next%len(c.took)] = took
	c.next++
}

func (c *calls) slowest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Max(c.took[:])
}

// A mark is how many numbers had been issued at a time.
type mark struct {
	at     time.Time
	issued uint64
}

// pace returns how many numbers a second were issued since.
func (m mark) pace(now mark) float64 {
	return float64(now.issued-m.issued) / max(now.at.Sub(m.at), time.Microsecond).Seconds()
}

// runLength returns how many numbers to take at a pace, after a run of last numbers.
func (c *Counter) runLength(pace float64, last uint64) uint64 {
	want := min(pace*lasting.Seconds(), float64(max(last, 1))*growth, float64(c.most))
	return max(uint64(want), c.least)
}

// lowMark returns how many of a run's numbers are to be given before the next run is fetched.
func lowMark(count uint64, pace float64, slowest time.Duration) uint64 {
	ahead := pace * margin * slowest.Seconds()
	return count - 1 - uint64(min(ahead, float64(count-1)))
}

// rest returns how long to wait before the next attempt, after a number of failures in a row.
func rest(failures int) time.Duration {
	longest := min(50*time.Millisecond<<min(failures, 10), 10*time.Second)
	return longest/2 + rand.N(longest/2)
}
