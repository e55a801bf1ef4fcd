package counter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/randflake/randflake/store"
)

// An Info is the state of a counter.
type Info struct {
	Name   string `json:"name"`
	Start  int64  `json:"start"`
	Stride int64  `json:"stride"`
	End    int64  `json:"end"`
	Rate   int64  `json:"rate,omitempty"` // numbers a second at most, or 0

	// Next is the first number that no handle has taken, or 0 if none is left.
	Next int64  `json:"next"`
	Left uint64 `json:"left"` // numbers from Next on

	// Taken counts the numbers taken in runs, Returned those given back unused, and Skipped those skipped after a
	// loss of data. So Taken - Returned + Skipped numbers lie before Next.
	Taken    uint64 `json:"taken"`
	Returned uint64 `json:"returned"`
	Skipped  uint64 `json:"skipped"`

	Changed time.Time `json:"changed"` // when numbers were taken last, or given back

	// Forgotten says that data was lost, so more numbers may have been taken than shown here.
	Forgotten bool `json:"forgotten,omitempty"`
}

func (r *record) info(name string, generation string) Info {
	i := Info{Name: name, Start: r.Start, Stride: r.Stride, End: r.End, Rate: r.Rate, Left: r.left(), Taken: r.Taken,
		Returned: r.Returned, Skipped: r.Skipped, Changed: time.Unix(r.Second, 0).UTC(), Forgotten: r.Generation != generation}
	if i.Left > 0 {
		i.Next = r.number(r.Position)
	}
	return i
}

// shape returns a record that holds only the creation parameters.
func (i Info) shape() *record {
	return &record{Start: i.Start, Stride: i.Stride, End: i.End, Rate: i.Rate}
}

// number returns the number at a position.
func (i Info) number(position uint64) int64 { return i.shape().number(position) }

// NewInfo returns the state of a new counter with these options, as Create makes it.
func NewInfo(options ...Option) (Info, error) {
	set, err := newSettings(options)
	if err != nil {
		return Info{}, err
	}
	return set.shape().info("", ""), nil
}

// Create makes a counter. If the name exists, the error wraps fs.ErrExist. In a space that may have lost a counter of
// that name it returns ErrForgotten: see [UnusedBefore].
func (s *Counters) Create(ctx context.Context, name string, options ...Option) (Info, error) {
	set, err := newSettings(options)
	if err != nil {
		return Info{}, err
	}
	if set.orCreate {
		return Info{}, fmt.Errorf("%w: OrCreate is for Open", ErrInvalidOption)
	}
	if s.source != nil {
		return Info{}, s.notHere("create", name)
	}
	r, err := s.create(ctx, name, set)
	if err != nil {
		return Info{}, err
	}
	return r.info(name, r.Generation), nil
}

func (s *Counters) create(ctx context.Context, name string, set *settings) (*record, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	what := ""
	if s.by != "" {
		what = "create"
	}
	return s.change(ctx, name, what, func(v *store.View, r *record) (*record, error) {
		if r != nil && !r.Deleted {
			return nil, fmt.Errorf("counter: create: %w", fs.ErrExist)
		}
		if pruned(v.Meta, name) {
			return nil, errPruned
		}
		next, floor := changed(v, set.shape()), time.Unix(v.Meta.Floor, 0)
		next.Generation = generation(v.Meta)
		if r != nil {
			if set.unusedBefore.Unix() < r.Second {
				return nil, fmt.Errorf("%w: it was deleted at %s, and may have given the numbers up to %d: begin after them, and say UnusedBefore that time, or randflake counter create --new",
					ErrNoCounter, time.Unix(r.Second, 0).UTC().Format(time.RFC3339), r.number(max(r.Position, 1)-1))
			}
			next.Version, next.Born, next.Second = r.Version+1, r.Version+1, max(next.Second, r.Second)
		}
		switch {
		case v.Meta.Floor == 0:
			return next, nil
		case set.unusedBefore.Unix() > max(v.Now, v.Meta.Floor):
			return nil, fmt.Errorf("%w: UnusedBefore(%s) is in the future: nobody can know that", store.ErrClock, set.unusedBefore.Format(time.RFC3339))
		case !set.unusedBefore.Before(floor):
			return next, nil
		case set.unusedBefore.IsZero() || next.Rate == 0:
			return nil, fmt.Errorf("%w: whether this one was there is unknown: if it gave no number before %s, say UnusedBefore that time, or randflake counter create --new; if it did, start beyond all that were taken as well",
				ErrForgotten, floor.UTC().Format(time.RFC3339))
		}
		if err := v.Clock(); err != nil {
			return nil, err
		}
		next.Version, next.Second = next.Version-1, set.unusedBefore.Unix()
		return jumped(v, next), nil
	})
}

// open returns the supply of a handle on a counter.
func (s *Counters) open(ctx context.Context, name string, options []Option, strict bool) (supply, *settings, error) {
	set, err := newSettings(options)
	if err != nil {
		return nil, nil, err
	}
	if strict && set.unordered {
		return nil, nil, fmt.Errorf("%w: Unordered is for Open: a strict counter is in order", ErrInvalidOption)
	}
	open := s.openTaker
	if s.source != nil {
		open = s.openAsker
	}
	from, err := open(ctx, name, set, strict)
	if err != nil {
		return nil, nil, err
	}
	return from, set, set.match(name, from.newest())
}

func (s *Counters) openTaker(ctx context.Context, name string, set *settings, strict bool) (supply, error) {
	r, _, err := s.look(ctx, name)
	if errors.Is(err, ErrNoCounter) && set.orCreate {
		if r, err = s.create(ctx, name, set); errors.Is(err, fs.ErrExist) {
			r, _, err = s.look(ctx, name)
		}
	}
	return &taker{counters: s, name: name, seen: r, strict: strict}, err
}

// look reads a record and the generation of the space. It changes nothing, even if it finds that data was lost.
func (s *Counters) look(ctx context.Context, name string) (*record, string, error) {
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	v, err := s.space.Look(ctx, []string{prefix + name}, store.Page{})
	if err != nil {
		return nil, "", err
	}
	r, err := decode(v.Find(prefix + name))
	if err == nil && r != nil && r.Deleted {
		_, err = trusted(v, nil, r)
		err = s.explain(err, name)
	}
	if err == nil && r == nil {
		err = fmt.Errorf("%w: %s in %s: randflake counter create makes one, as Create does", ErrNoCounter, name, s.space)
	}
	return r, generation(v.Meta), err
}

// Get returns the state of a counter, or ErrNoCounter.
func (s *Counters) Get(ctx context.Context, name string) (Info, error) {
	if s.source != nil {
		return s.source.Get(ctx, name)
	}
	r, generation, err := s.look(ctx, name)
	if err != nil {
		return Info{}, err
	}
	return r.info(name, generation), nil
}

// List returns the counters whose names begin with begin, ordered by name. It is not a snapshot of one moment.
func (s *Counters) List(ctx context.Context, begin string) iter.Seq2[Info, error] {
	if s.source != nil {
		return s.source.List(ctx, begin)
	}
	return func(yield func(Info, error) bool) {
		v, err := s.space.Look(ctx, nil, store.Page{})
		if err != nil {
			yield(Info{}, err)
			return
		}
		for item, err := range s.space.Items(ctx, prefix+begin, prefix+begin+"~") { // after every byte that a name has
			var r *record
			if err == nil {
				r, err = decode(item)
			}
			if err != nil {
				yield(Info{}, err)
				return
			}
			if r.Deleted {
				continue
			}
			if !yield(r.info(item.Name[len(prefix):], generation(v.Meta)), nil) {
				return
			}
		}
	}
}

// Advance makes a counter continue at its first number that is not less than to, and skip the numbers before it. An
// operator calls it after a loss of data, see [ErrForgotten]. Then to must lie beyond every number ever taken,
// including those that running processes hold in memory. Advance never goes back; [Counters.SetBack] can. A counter with
// a rate does not need Advance after a loss; it returns ErrRate if to is further ahead than the rate allows now.
func (s *Counters) Advance(ctx context.Context, name string, to int64) (Info, error) {
	return s.move(ctx, name, fmt.Sprint("advance to ", to), func(next *record) error {
		position := next.position(to)
		if position < next.Position {
			return fmt.Errorf("counter: advance to %d: the numbers up to %d were taken or skipped, and advancing never goes back: randflake counter set-back undoes a skip, as SetBack does",
				to, next.number(next.Position-1))
		}
		n := position - next.Position
		if next.Rate > 0 && n > uint64(max(next.Budget, 0)) {
			return fmt.Errorf("%w: advancing by %d numbers, %d are left at %d a second: that bound is what it goes by after a loss of data", ErrRate, n, next.Budget, next.Rate)
		}
		if next.Rate > 0 {
			next.Budget -= int64(n)
		}
		if to > next.End {
			n++
		}
		next.skip(n)
		return nil
	})
}

// SetBack makes a counter continue at its first number that is not less than to, if that number and all after it were
// skipped, by Advance or by a jump after a loss of data. An operator calls it when too many were skipped. Then to must
// lie beyond every number ever taken, as for Advance. SetBack fails once a number after the skipped ones is in use, since
// the counter would reach that number again.
func (s *Counters) SetBack(ctx context.Context, name string, to int64) (Info, error) {
	return s.move(ctx, name, fmt.Sprint("set back to ", to), func(next *record) error {
		position, lowest := next.position(to), next.Position
		if next.Position == next.SkipTo {
			lowest = next.SkipFrom
		}
		switch {
		case position > next.Position:
			return fmt.Errorf("counter: set back to %d: it is not there yet: use randflake counter advance, or Advance", to)
		case position < lowest:
			return fmt.Errorf("counter: set back to %d: the numbers up to %d may be in use: want a number beyond", to, next.number(lowest-1))
		}
		next.Skipped -= next.Position - position
		next.Position = position
		next.SkipFrom, next.SkipTo = lowest, position
		return nil
	})
}

// Extend makes the end of a counter larger, see [WithEnd]; it never makes it smaller. If a skip reached the present end,
// numbers beyond it may have been given before a loss of data, and Extend returns ErrForgotten until [Counters.SetBack]
// says where to continue. A counter that is forgotten already remains so: advance it afterwards.
func (s *Counters) Extend(ctx context.Context, name string, end int64) (Info, error) {
	return s.operate(ctx, name, fmt.Sprint("extend to ", end), func(v *store.View, r *record) (*record, error) {
		if end < r.End {
			return nil, fmt.Errorf("counter: extend to %d: its end is %d already, and an end never goes back", end, r.End)
		}
		if end > r.End && r.skippedToEnd() {
			return nil, fmt.Errorf("%w: extend to %d: numbers beyond its end, %d, may have been given: set it back to the first number that was not: randflake counter set-back",
				ErrForgotten, end, r.End)
		}
		longer := *r
		longer.End = end
		if r.Rate > 0 {
			return trusted(v, nil, &longer)
		}
		return changed(v, &longer), nil
	})
}

// move changes the position of a counter by an operator's word, on which it continues after a loss of data.
func (s *Counters) move(ctx context.Context, name, what string, act func(next *record) error) (Info, error) {
	return s.operate(ctx, name, what, func(v *store.View, r *record) (*record, error) {
		next := changed(v, r)
		if r.Rate > 0 && r.Generation != generation(v.Meta) {
			next = jumped(v, r)
		}
		next.Generation = generation(v.Meta)
		return next, act(next)
	})
}

// operate changes a counter of a space by an operator's word.
func (s *Counters) operate(ctx context.Context, name, what string, decide decision) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	if s.source != nil {
		return Info{}, s.notHere(what, name)
	}
	current := ""
	r, err := s.change(ctx, name, what, func(v *store.View, r *record) (*record, error) {
		if r == nil || r.Deleted {
			return nil, fmt.Errorf("%w: make it anew, with a start beyond all numbers that were taken", ErrNoCounter)
		}
		current = generation(v.Meta)
		return decide(v, r)
	})
	if err != nil {
		return Info{}, err
	}
	return r.info(name, current), nil
}

// change changes a record after it has read it, and logs what was done unless that is empty.
func (s *Counters) change(ctx context.Context, name, what string, decide decision) (next *record, err error) {
	names := []string{logName(name)}
	if what == "" {
		names = nil
	}
	_, err = s.state(name, nil, names...).Update(ctx, nil, nil, func(v *store.View, r *record) (put []store.Item, err error) {
		if next, err = decide(v, r); err != nil {
			return nil, s.explain(err, name)
		}
		if put = []store.Item{next.item(name)}; what != "" {
			put = append(put, s.logged(v, name, what))
		}
		return put, nil
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// Reset makes a counter begin again at its first number that is not less than to, whatever was taken, by an operator's word:
// numbers repeat. The operator shows to know the counter by its next number, as in Info, so that a program that still uses it
// makes Reset fail. Numbers that programs have in memory by then are not taken back from them.
func (s *Counters) Reset(ctx context.Context, name string, next, to int64) (Info, error) {
	return s.operate(ctx, name, fmt.Sprintf("reset from %d to %d", next, to), func(v *store.View, r *record) (*record, error) {
		position := r.position(to)
		if position == r.size() {
			return nil, fmt.Errorf("%w: reset to %d: want a number up to %d", ErrInvalidOption, to, r.number(r.size()-1))
		}
		anew, err := reborn(v, r, next)
		if err == nil {
			anew.Position, anew.Taken, anew.Returned, anew.Skipped, anew.SkipFrom, anew.SkipTo = position, 0, 0, position, position, position
		}
		return anew, err
	})
}

// Delete deletes a counter by an operator's word; next is as for Reset. Open and Create return ErrNoCounter then, also with
// OrCreate. Only an operator can create it anew, by UnusedBefore with a time after the deletion.
func (s *Counters) Delete(ctx context.Context, name string, next int64) error {
	_, err := s.operate(ctx, name, fmt.Sprintf("delete at %d", next), func(v *store.View, r *record) (*record, error) {
		gone, err := reborn(v, r, next)
		if err == nil {
			gone.Deleted = true
		}
		return gone, err
	})
	return err
}

// reborn returns a copy of r that begins another life, if next is its next number.
func reborn(v *store.View, r *record, next int64) (*record, error) {
	if is := r.info("", "").Next; is != next {
		return nil, fmt.Errorf("%w: its next number is %d, not %d: are programs still using it?", ErrMismatch, is, next)
	}
	anew := changed(v, r)
	anew.Born, anew.Generation = anew.Version, generation(v.Meta)
	return anew, nil
}
