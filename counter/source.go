package counter

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/randflake/randflake/internal/protocol"
)

// A Source gives runs of counters, as [Counters] do, or a service in front of a space. It must be safe for concurrent
// use. Its methods behave as those of Counters, except that a limit of the source may make a run shorter.
//
// If an error of Allocate wraps ErrNoCounter, ErrEnd, ErrRate, ErrForgotten, ErrInvalidToken, ErrInvalidName or
// ErrInvalidOption, no run was taken, unless an abandoned request arrives later. After any other error the outcome
// is unknown.
type Source interface {
	Allocate(ctx context.Context, name string, n uint64, token Token) (Run, Info, error)
	ReturnRun(ctx context.Context, name string, run Run, unused uint64) (bool, error)
	Get(ctx context.Context, name string) (Info, error)
	List(ctx context.Context, begin string) iter.Seq2[Info, error]
}

var _ Source = (*Counters)(nil)

// From returns the counters of a source, which differ from those of a space in two ways; now is the clock for tokens.
//   - Create and Advance fail with errors.ErrUnsupported: the operator of the source does both. With [OrCreate] the
//     source creates a counter in its own way; the handle takes a number and gives it back.
//   - A call whose outcome is unknown is repeated with the same token for up to a minute, and gets the run that the
//     first call took. After that, and in a [Strict] handle at once, its numbers count as unsure.
func From(source Source, now func() time.Time) *Counters { return &Counters{source: source, now: now} }

// An asker gets the runs of one handle from a source.
type asker struct {
	counters *Counters
	name     string
	strict   bool // numbers of unknown outcome come too late
	seen     Info // the newest state that was seen
	unsure   uint64

	// The call whose outcome is unknown, if the token is not zero.
	token Token
	count uint64
}

func (s *Counters) openAsker(ctx context.Context, name string, set *settings, strict bool) (supply, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	seen, err := s.source.Get(ctx, name)
	if errors.Is(err, ErrNoCounter) && set.orCreate {
		var one Run
		if one, seen, err = s.source.Allocate(ctx, name, 1, NewToken(s.now())); err == nil {
			s.source.ReturnRun(ctx, name, one, 1) // or the number is lost
			seen, err = s.source.Get(ctx, name)
		}
	}
	return &asker{counters: s, name: name, strict: strict, seen: seen}, err
}

// take asks for a run of up to n numbers, or repeats the call whose outcome is unknown.
func (a *asker) take(ctx context.Context, n uint64) (got positions, late uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	now, began := a.counters.now(), time.Now()
	if a.strict {
		a.forget()
	}
	token := protocol.Again(a.token, now)
	if token == a.token {
		n = a.count
	} else {
		a.forget()
	}
	b, info, err := a.counters.source.Allocate(ctx, a.name, n, token)
	switch {
	case err != nil && refused(err):
		a.forget()
		return positions{}, 0, err
	case err != nil:
		a.token, a.count = token, n
		return positions{}, 0, err
	}
	a.token, a.count = Token{}, 0
	if got, err = positionsOf(b, info, n); err != nil {
		return positions{}, 0, err
	}
	a.seen = info
	a.counters.calls.add(time.Since(began))
	return got, 0, nil
}

// refused reports whether an error of Allocate says that no run was taken.
func refused(err error) bool {
	return slices.ContainsFunc([]error{ErrNoCounter, ErrEnd, ErrRate, ErrForgotten, ErrInvalidToken, ErrInvalidName, ErrInvalidOption},
		func(target error) bool { return errors.Is(err, target) })
}

// forget gives up on the call whose outcome is unknown.
func (a *asker) forget() {
	a.unsure += a.count
	a.token, a.count = Token{}, 0
}

// positionsOf returns the positions of a run, or an error if it is not a run of at most n numbers of the counter.
func positionsOf(b Run, i Info, n uint64) (positions, error) {
	r := i.shape()
	wrong := checkShape(r.Start, r.Stride, r.End, r.Rate)
	if wrong == nil && b.Count >= 1 && b.Count <= n && b.Stride == r.Stride && b.First >= r.Start && b.First <= r.End {
		first := r.position(b.First)
		if b.Count <= r.size()-first && r.number(first) == b.First {
			return positions{first: first, end: first + b.Count, run: &b}, nil
		}
	}
	return positions{}, fmt.Errorf("counter: run of %d numbers from %d by %d of %+v: want 1 to %d of its numbers", b.Count, b.First, b.Stride, i, n)
}

// giveBack asks the source to take back the positions, newest first.
func (a *asker) giveBack(ctx context.Context, all []positions) (returned, lost, late uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for _, s := range slices.Backward(all) {
		done := false
		if err == nil && s.len() > 0 {
			done, err = a.counters.source.ReturnRun(ctx, a.name, *s.run, s.len())
		}
		if done {
			returned += s.len()
		} else {
			lost += s.len()
		}
	}
	return returned, lost, 0, err
}

func (a *asker) newest() Info { return a.seen }

func (a *asker) doubtful() uint64 { return a.unsure + a.count }
