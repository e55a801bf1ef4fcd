package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

func (s *Space) moved(m *Meta) error {
	return fmt.Errorf("%w: %s is in %s now: name that store instead; if none is there yet, the move was interrupted: make none, but repeat the move", ErrMoved, s, m.Moved)
}

// toMove returns the Meta of a space that is to be moved, or was being moved.
func (s *Space) toMove(ctx context.Context) (*Meta, error) {
	if !s.settings.forMove {
		return nil, fmt.Errorf("%w: move: %s was opened without ForMove", ErrInvalidOption, s)
	}
	v, err := s.Read(ctx, nil, Page{})
	if err != nil {
		return nil, err
	}
	return v.Meta, nil
}

// take closes the space from, copies its items to s, where there is no space yet, and returns the Meta that s is to have. If
// it was interrupted before, it goes on.
func (s *Space) take(ctx context.Context, from *Space) (*Meta, error) {
	m, err := from.toMove(ctx)
	for err == nil && m.Moved == "" {
		view := from.Assume()
		closed := view.Meta.next()
		closed.Moved = s.String()
		if _, err = from.putMeta(ctx, view.value, closed); err == nil {
			m, err = from.toMove(ctx)
		}
	}
	if err != nil {
		return nil, err
	}
	if m.Moved != s.String() {
		return nil, fmt.Errorf("%w: %s is in %s now, or on its way there: want a move to that store", ErrMoved, from, m.Moved)
	}
	for page := (Page{Limit: chunk}); ; {
		found, err := from.engine.Read(ctx, nil, from.page(page))
		if err != nil {
			return nil, from.failed("move", err)
		}
		if err := s.copyEntries(ctx, from, found.Page); err != nil {
			return nil, err
		}
		if len(found.Page) < page.Limit {
			break
		}
		page.From = strings.TrimPrefix(found.Page[len(found.Page)-1].Name, from.name("")) + "-" // the lowest of the names that come after
	}
	copied := m.next()
	copied.Moved, copied.Failover = "", 0
	if !slices.Equal(copied.Check, s.settings.check) {
		return nil, fmt.Errorf("store: move: %s: it was bound to a secret, or to another key, meanwhile: try again", from)
	}
	return copied, nil
}

// chunk is how many entries of any size one call can put.
const chunk = 15

// copyEntries puts entries of from, except the meta entry, whatever an earlier attempt has left in their place.
func (s *Space) copyEntries(ctx context.Context, from *Space, entries []Entry) error {
	var names []string
	put := slices.Clone(entries)
	put = slices.DeleteFunc(put, func(e Entry) bool { return e.Name == from.name(metaName) })
	for i := range put {
		put[i].Name = s.name(strings.TrimPrefix(put[i].Name, from.name("")))
		names = append(names, put[i].Name)
	}
	for range tries {
		if len(put) == 0 {
			return nil
		}
		there, err := s.engine.Read(ctx, names, Page{})
		if err != nil {
			return s.failed("move", err)
		}
		answer, err := s.engine.Swap(ctx, there.Named, put)
		if err != nil {
			return s.failed("move", err)
		}
		if answer.Swapped {
			return nil
		}
	}
	return s.contended()
}
