package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// number is the entry of a counter. Its numbers carry no time, so no floor helps after a loss: then it is of another ID than
// the space, and grants nothing until a person sets it.
type number struct {
	Next int64  `json:"next"`
	ID   string `json:"id"` // of the space
}

// Next takes n numbers of a counter, for ever, and returns the first. It returns ErrCounter where the counter was never set, or
// data was lost since. After ErrUnknown the numbers may have been taken.
func (s *Space) Next(ctx context.Context, counter string, n int64) (first int64, err error) {
	if n < 1 {
		return 0, fmt.Errorf("%w: %d numbers: want 1 or more", ErrInvalid, n)
	}
	err = s.update(ctx, counterPrefix+counter, counterWentBack, func(v *view) ([]byte, error) {
		c, err := decodeNumber(v.value)
		switch {
		case err != nil:
			return nil, err
		case c.ID != v.meta.ID:
			return nil, fmt.Errorf("%w: %s of %s: set it to a number that is beyond all that were taken", ErrCounter, counter, s)
		case n > math.MaxInt64-c.Next:
			return nil, fmt.Errorf("%w: %s of %s is at %d", ErrEnd, counter, s, c.Next)
		}
		first = c.Next
		return json.Marshal(number{first + n, c.ID})
	})
	if err != nil {
		return 0, err
	}
	return first, nil
}

// Set makes a counter, or says where it goes on after a loss: at a number beyond all that were taken. It never lowers one.
func (s *Space) Set(ctx context.Context, counter string, next int64) error {
	return s.update(ctx, counterPrefix+counter, counterWentBack, func(v *view) ([]byte, error) {
		c, err := decodeNumber(v.value)
		if err == nil && next < c.Next {
			err = fmt.Errorf("%w: %s of %s is at %d already: want that or more", ErrInvalid, counter, s, c.Next)
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(number{next, v.meta.ID})
	})
}

func decodeNumber(value []byte) (c number, err error) {
	if value != nil {
		if err = json.Unmarshal(value, &c); err != nil {
			err = fmt.Errorf("%w: counter: %.100q: %w", ErrCorrupt, value, err)
		}
	}
	return c, err
}

func counterWentBack(_ *meta, was, is []byte) bool {
	before, err := decodeNumber(was)
	after, wrong := decodeNumber(is)
	return err == nil && wrong == nil && after.Next < before.Next
}
