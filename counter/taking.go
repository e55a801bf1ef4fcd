package counter

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake/internal/protocol"
	"github.com/randflake/randflake/store"
)

// A taker takes blocks of one counter, one after the other, and finds out about those whose outcome was unknown.
type taker struct {
	counters *Counters
	name     string
	seen     *record // the newest state that was seen
	open     *record // the newest state that was proposed, when it is unknown whether it came true
	unsure   uint64  // numbers that may have been taken in this handle's name, which never found out
	strict   bool    // numbers of unknown outcome come too late
	late     uint64  // such numbers
}

// A supply gets blocks of one counter, one after the other: a taker from the space itself, an asker from a [Source].
type supply interface {
	// take takes a block of up to n numbers. Numbers that earlier calls turn out to have taken, too late, are lost.
	take(ctx context.Context, n uint64) (got span, late uint64, err error)

	// giveBack gives back spans, of which the last is the newest. Numbers that were late are given back or lost here.
	giveBack(ctx context.Context, spans []span) (returned, lost, late uint64, err error)

	// newest returns the newest state of the counter that was seen.
	newest() Info

	// doubtful returns how many numbers may have been taken that are in no span which was returned.
	doubtful() uint64
}

// A span is a run of positions that a block has, up to end.
type span struct {
	first, end uint64
	epoch      string // a taker's; in another one these may be other numbers, when the counter was made anew
	block      Block  // an asker's, of which these are the last
}

func (s span) len() uint64 { return s.end - s.first }

// patience bounds how long a call of the space may take.
const patience = 10 * time.Second

// take takes a block of up to n numbers. When it turns out that an earlier call, whose outcome was unknown, took one,
// that is it.
func (t *taker) take(ctx context.Context, n uint64) (got span, late uint64, err error) {
	began := time.Now()
	r, err := t.change(ctx, func(next *record) error { return next.take(n) })
	late, t.late = t.late, 0
	if err != nil {
		return span{}, late, err
	}
	t.counters.calls.add(time.Since(began))
	return r.newestSpan(), late, nil
}

func (t *taker) newest() Info { return t.seen.info(t.name, t.seen.Epoch) }

// newestSpan returns what the newest change took.
func (r *record) newestSpan() span {
	return span{first: r.Position - r.Block, end: r.Position, epoch: r.Epoch}
}

// giveBackOne gives back the numbers of a span if it is the newest one, and reports whether it was. When it turns out that
// an earlier take, whose outcome was unknown, took a block, it returns that one instead.
func (t *taker) giveBackOne(ctx context.Context, s span) (done bool, late span, err error) {
	r, err := t.change(ctx, func(next *record) error {
		if next.Epoch != s.epoch {
			return errNotNewest
		}
		return next.giveBack(s.end, s.len())
	})
	switch {
	case errors.Is(err, errNotNewest):
		return false, span{}, nil
	case err != nil:
		return false, span{}, err
	case r.Block > 0:
		return false, r.newestSpan(), nil
	}
	return true, span{}, nil
}

// change makes a change, or returns the record as it is when an earlier take turns out to have made it so.
func (t *taker) change(ctx context.Context, act func(*record) error) (*record, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
			t.late += r.Block
			t.open = nil
		}
		next, err := trusted(v, t.seen, r)
		if err != nil {
			return nil, err
		}
		if t.open != nil { // for the same version: one of the two at most comes true
			next.Token = t.open.Token
		}
		short = act(next)
		if jumped := r == nil || r.Epoch != next.Epoch; short != nil && !(jumped && errors.Is(short, ErrRate)) {
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
	} else if unknown := (protocol.UnknownError{}); errors.As(err, &unknown) && (proposed.Block > 0 || t.open != nil) {
		t.doubt(proposed)
	}
	return r, err
}

// doubt remembers a proposal whose outcome is unknown. Another one for the same version may have come true in its place; one
// for a lower version can't.
func (t *taker) doubt(proposed *record) {
	switch again := *proposed; {
	case t.open == nil:
		t.open = &again
	case proposed.Version == t.open.Version:
		again.Block = max(again.Block, t.open.Block)
		t.open = &again
	}
}

func (t *taker) doubtful() uint64 {
	if t.open == nil {
		return t.unsure
	}
	return t.unsure + t.open.Block
}

// tookAlready reports whether the newest change of the record is the take of unknown outcome. When it is clear that this
// can't be found out any more, its numbers are unsure.
func (t *taker) tookAlready(v *store.View, r *record) bool {
	same := t.open != nil && t.open.Epoch == epoch(v.Meta)
	switch {
	case t.open == nil || same && r != nil && r.Version < t.open.Version:
		return false
	case same && r != nil && r.Version == t.open.Version && r.Token == t.open.Token && r.Block > 0: // no return in its place
		return true
	case !same || r == nil || r.Version > t.open.Version:
		t.unsure += t.open.Block
	}
	t.open = nil
	return false
}

func (t *taker) giveBack(ctx context.Context, spans []span) (returned, lost, late uint64, err error) {
	if t.open != nil {
		spans = append(spans, span{}) // finds out
	}
	for len(spans) > 0 {
		last := spans[len(spans)-1]
		spans = spans[:len(spans)-1]
		if n := len(spans); n > 0 && spans[n-1].end == last.first && spans[n-1].epoch == last.epoch {
			spans[n-1].end = last.end
			continue
		}
		done, found := false, span{}
		if last.len() > 0 || t.open != nil {
			done, found, err = t.giveBackOne(ctx, last)
		}
		switch {
		case err != nil:
			lost += last.len()
			for _, s := range spans {
				lost += s.len()
			}
			return returned, lost, late, err
		case found.len() > 0:
			late += found.len()
			spans = append(spans, last, found)
		case done:
			returned += last.len()
		default:
			lost += last.len()
		}
	}
	return returned, lost, late, nil
}
