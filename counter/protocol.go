package counter

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

// bucket is how many seconds' worth of numbers a rate allows at once after a pause.
const bucket = 20

// A decision returns the new record of a counter. The old one is nil if there is no record.
type decision func(v *store.View, r *record) (*record, error)

// update changes a record by one compare-and-set, as [protocol.State.Update] does. It first assumes the record as it
// was last seen, if it was.
//
// A record with a rate is read first, never assumed: its new Second says that this was the state at that time. If an
// assumed state were put onto a restored older copy, the next jump would be too short by all numbers taken between.
func (s *Counters) update(ctx context.Context, name string, seen *record, decide decision) (next *record, err error) {
	var assumed *store.View
	if seen != nil && seen.Rate == 0 {
		assumed = s.space.Assume(seen.item(name))
	}
	_, err = s.state(name, seen).Update(ctx, assumed, seen, func(v *store.View, r *record) ([]store.Item, error) {
		decided, err := decide(v, r)
		if err != nil {
			return nil, s.explain(err, name)
		}
		next = decided
		return []store.Item{next.item(name)}, nil
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// state is a counter's record, with other items that must be unchanged when the record changes.
func (s *Counters) state(name string, seen *record, others ...string) protocol.State[*record] {
	return protocol.State[*record]{
		Space: s.space, Names: append([]string{prefix + name}, others...), What: "counter " + name,
		Decode: func(v *store.View) (*record, error) { return decode(v.Find(prefix + name)) },
		WentBack: func(v *store.View, r *record) bool {
			return wentBack(v, seen, r) && !(r == nil && pruned(v.Meta, name))
		},
	}
}

func (s *Counters) explain(err error, name string) error {
	return fmt.Errorf("%w: %s in %s", err, name, s.space)
}

// wentBack reports whether the space shows an older state of a counter than was seen, without having noted a loss
// since.
func wentBack(v *store.View, seen, r *record) bool {
	return seen != nil && seen.Generation == generation(v.Meta) && (r == nil || r.Version < seen.Version)
}

// generation names the period between two losses of data.
func generation(m *store.Meta) string { return cmp.Or(m.LossID, m.Incarnation) }

// trusted returns a copy of the record for a change, after which no number beyond its position can have been taken.
// After a loss it starts from the record that is left. It uses the state that this process has seen only if no record
// is left, since that state may come from a copy of the data with another history.
func trusted(v *store.View, seen, r *record) (*record, error) {
	if r == nil && seen == nil {
		return nil, ErrNoCounter
	}
	if r != nil && r.Deleted {
		return nil, fmt.Errorf("%w: it was deleted at %s", ErrNoCounter, time.Unix(r.Second, 0).UTC().Format(time.RFC3339))
	}
	if r != nil && r.Generation == generation(v.Meta) {
		return changed(v, r), nil
	}
	base := cmp.Or(r, seen)
	if base.Rate == 0 {
		return nil, fmt.Errorf("%w: find out a number that is beyond all that were taken, and say randflake counter advance NAME NUMBER", ErrForgotten)
	}
	if err := v.Clock(); err != nil {
		return nil, err
	}
	return jumped(v, base), nil
}

// changed returns a copy of r for a change, with the budget of the time since. That time never goes back.
func changed(v *store.View, r *record) *record {
	next := *r
	next.Version++
	next.Token, next.Run = newToken(), 0
	next.Second = max(r.Second, v.Now)
	if r.Rate > 0 {
		next.Budget = min(saturated(r.Rate, next.Second-r.Second, r.Budget), bucket*r.Rate)
	}
	return &next
}

// jumped returns a copy of base, a past state, moved beyond all numbers that can have been taken since: the rest of its
// budget, and what its rate allows by a clock that was ahead of this one by MaxSkew, or by twice that if this one is
// behind.
//
// Invariant: Position + Budget - Rate x Second never increases, jumps included, so the counter rests for twice MaxSkew after
// one. If the jump is forgotten too, and an older state comes back, the next jump goes beyond all that followed this one.
func jumped(v *store.View, base *record) *record {
	next := changed(v, base)
	passed, skew := next.Second-base.Second, v.Meta.Limits().Skew()
	next.skip(uint64(max(0, saturated(base.Rate, passed+2*skew, base.Budget))))
	next.Budget = min(saturated(base.Rate, passed, base.Budget), -saturated(base.Rate, 2*skew, 0))
	next.Generation = generation(v.Meta)
	return next
}

// skip skips n numbers, or those that are left. Then SkipTo is at the end, even if none were left.
func (r *record) skip(n uint64) {
	k := min(n, r.left())
	if n == 0 {
		return
	}
	if r.Position != r.SkipTo {
		r.SkipFrom = r.Position
	}
	r.Position += k
	r.SkipTo = r.Position
	r.Skipped += k
}

// skippedToEnd reports whether a skip reached the end, so it may have been meant to go beyond.
func (r *record) skippedToEnd() bool { return r.left() == 0 && r.SkipTo == r.Position }

// saturated returns rate x seconds + more, or the highest number.
func saturated(rate, seconds, more int64) int64 {
	high, low := bits.Mul64(uint64(rate), uint64(seconds))
	if high > 0 || low > math.MaxInt64-uint64(max(more, 0)) {
		return math.MaxInt64
	}
	return int64(low) + more
}

// take takes n numbers, or as many as are left and allowed, as the newest run of r.
func (r *record) take(n uint64) error {
	if r.left() == 0 {
		return fmt.Errorf("%w, %d", ErrEnd, r.number(r.size()-1))
	}
	n = min(n, r.left())
	if r.Rate > 0 {
		if r.Budget < 1 {
			return fmt.Errorf("%w, %d a second", ErrRate, r.Rate)
		}
		n = min(n, uint64(r.Budget))
		r.Budget -= int64(n)
	}
	r.Position += n
	r.Taken += n
	r.Run = n
	return nil
}

// giveBack makes the n numbers before end free again, if no number after them is taken.
func (r *record) giveBack(end, n uint64) error {
	if r.Position != end || r.skippedToEnd() {
		return errNotNewest
	}
	r.Position -= n
	r.Returned += n
	if r.Rate > 0 {
		r.Budget += int64(n)
	}
	return nil
}

var errNotNewest = errors.New("counter: not the newest numbers")

// newToken returns a token that no other call returns.
func newToken() (t token) {
	rand.Read(t[:]) // never fails, by its contract
	return t
}
