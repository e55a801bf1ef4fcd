package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// An Ended says that items whose names begin with Prefix, and that ended by Before, are never made again. Which items these
// are is the protocol's business.
type Ended struct {
	Prefix string `json:"prefix"`
	Before int64  `json:"before"` // Unix seconds
}

// covers reports whether e says all that other says.
func (e Ended) covers(other Ended) bool {
	return strings.HasPrefix(other.Prefix, e.Prefix) && other.Before <= e.Before
}

const mostEnded = 16 // as every change of the space sends them

// End adds to Meta.Ended. Changes that others have begun before are refused from then on, as they expect the old Meta.
func (s *Space) End(ctx context.Context, ended Ended) error {
	for range tries {
		v, err := s.Read(ctx, nil, Page{})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(v.Meta.Ended, func(e Ended) bool { return e.covers(ended) }) {
			return nil
		}
		all := append(slices.DeleteFunc(slices.Clone(v.Meta.Ended), ended.covers), ended)
		if len(all) > mostEnded {
			return fmt.Errorf("%w: end %q: there are %d prefixes already, and no more fit: take what they have in common", ErrInvalidOption, ended.Prefix, mostEnded)
		}
		if done, _, err := s.Swap(ctx, v, Change{ended: all}); err != nil || done {
			return err
		}
	}
	return s.contended()
}
