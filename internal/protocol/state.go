// Package protocol has what leases and counters have in common above a space.
package protocol

import (
	"context"
	"fmt"

	"github.com/randflake/randflake/store"
)

// tries is the maximum number of retries after a lost race.
const tries = 200

// A State is what a protocol keeps in some items of a space, as a value of S.
type State[S any] struct {
	Space *store.Space
	Names []string // of the items
	What  string   // names the state in messages

	// Decode returns the state that v shows.
	Decode func(v *store.View) (S, error)

	// WentBack reports whether the caller has seen a newer state than v shows, though v tells of no loss of data since.
	WentBack func(v *store.View, state S) bool
}

// An UnknownError says that the space failed and that a change may have been made nevertheless, or may yet be.
type UnknownError struct{ error }

func (e UnknownError) Unwrap() error { return e.error }

// Update puts what decide makes of the state, if the items of the state are unchanged by then, in one atomic and durable
// step, and returns a View of the space after it. If decide puts nothing, nothing is changed.
//
// Update begins with the state that is assumed, unless that View is nil. If the assumption is wrong, or decide returns an
// error on it, it reads the state. After a lost race it decides again. If the state went back in time it sets the floor
// first. An UnknownError leaves the outcome open; after any other error nothing was changed.
func (s State[S]) Update(ctx context.Context, assumed *store.View, state S, decide func(*store.View, S) ([]store.Item, error)) (v *store.View, err error) {
	v = assumed
	for range tries {
		if v == nil {
			if v, err = s.Space.Read(ctx, s.Names, store.Page{}); err != nil {
				return nil, err
			}
		}
		if v != assumed {
			if state, err = s.Decode(v); err != nil {
				return nil, err
			}
			if s.WentBack(v, state) {
				if err := s.Space.ReportLoss(ctx, s.What+" went back in time"); err != nil {
					return nil, err
				}
				v = nil
				continue
			}
		}
		put, err := decide(v, state)
		if err != nil && v == assumed {
			v = nil
			continue
		}
		if err != nil || len(put) == 0 {
			return v, err
		}
		done, found, err := s.Space.Swap(ctx, v, store.Change{Expect: s.items(v), Put: put})
		if err != nil {
			return nil, UnknownError{err}
		}
		if v = found; done {
			return v, nil
		}
	}
	return nil, fmt.Errorf("randflake: %s in %s changed each time that it was read: does the engine keep its word?", s.What, s.Space)
}

// items returns the items of the state as v shows them.
func (s State[S]) items(v *store.View) (items []store.Item) {
	for _, name := range s.Names {
		items = append(items, v.Find(name))
	}
	return items
}
