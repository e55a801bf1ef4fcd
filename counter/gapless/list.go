package gapless

import (
	"context"
	"fmt"
	"iter"
	"regexp"
)

// Peek and List show counters. They take no number and lock nothing.

// An Info is what a transaction sees of a counter. Others may take numbers meanwhile.
type Info struct {
	Name string
	Next int64  // the next number, or 0 at the end
	Last int64  // the largest possible number
	Left uint64 // numbers
}

// A counter is a row of the table.
type counter struct {
	Name        string
	Taken, Last int64
}

func (c counter) info() Info {
	left := uint64(c.Last) - uint64(c.Taken) // as uint64, since Taken can be -1
	if left == 0 {
		return Info{Name: c.Name, Last: c.Last}
	}
	return Info{Name: c.Name, Next: c.Taken + 1, Last: c.Last, Left: left}
}

// Peek returns the state of a counter, or an error that wraps [ErrNoCounter].
func (tx Tx) Peek(ctx context.Context, name string) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	found, err := tx.in.list(ctx, name, "", 1)
	switch {
	case err != nil:
		return Info{}, fmt.Errorf("gapless: peek at %q: %w", name, err)
	case len(found) == 0 || found[0].Name != name:
		return Info{}, fmt.Errorf("%w: %q", ErrNoCounter, name)
	}
	return found[0].info(), nil
}

const pageSize = 1000 // counters

// validPrefix matches the beginnings of names.
var validPrefix = regexp.MustCompile(`^[a-z0-9/_.-]{0,50}$`)

// List returns all counters whose names begin with prefix, sorted by name. It reads pages of a thousand. An error is the last that it
// returns.
func (tx Tx) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if !validPrefix.MatchString(prefix) {
			yield(Info{}, fmt.Errorf("%w: prefix %.60q: want up to 50 of a-z 0-9 . / - _", ErrInvalidName, prefix))
			return
		}
		after := ""
		for {
			page, err := tx.in.list(ctx, prefix, after, pageSize)
			if err != nil {
				yield(Info{}, fmt.Errorf("gapless: list %q: %w", prefix, err))
				return
			}
			for _, c := range page {
				if !yield(c.info(), nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			after = page[pageSize-1].Name
		}
	}
}
