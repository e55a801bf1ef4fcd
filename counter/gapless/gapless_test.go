package gapless

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

// An answering transaction gives the same answer to all calls.
type answering struct {
	n   int64
	err error
}

func (a answering) next(context.Context, string, int64, int64) (int64, error) { return a.n, a.err }

func (a answering) list(context.Context, string, string, int) ([]counter, error) { return nil, a.err }

// TestNext: what is wrong is refused before anything is sent, and errors of the transaction say whose they are. The rest is tested on
// servers, by package gaplesstest.
func TestNext(t *testing.T) {
	broken := errors.New("the connection broke")
	for _, c := range []struct {
		name        string
		first, last int64
		in          transaction
		err         error
	}{
		{"a", 0, 0, answering{n: 7}, nil},
		{"0", 1, 9, answering{n: 7}, nil},
		{"a/b", 1, math.MaxInt64, answering{n: 7}, nil},
		{"9_9", 1, 9, answering{n: 7}, nil},
		{"z.-z", 1, 9, answering{n: 7}, nil},
		{strings.Repeat("z", 50), 1, 9, answering{n: 7}, nil},
		{"books", 1, 9, answering{err: broken}, broken},
		{"books", 1, 9, answering{err: atEnd(9)}, ErrEnd},

		{"", 1, 9, nil, ErrInvalidName},
		{"A", 1, 9, nil, ErrInvalidName},
		{"-a", 1, 9, nil, ErrInvalidName},
		{"a/", 1, 9, nil, ErrInvalidName},
		{"a'b", 1, 9, nil, ErrInvalidName},
		{`a\`, 1, 9, nil, ErrInvalidName},
		{"a b", 1, 9, nil, ErrInvalidName},
		{"ä", 1, 9, nil, ErrInvalidName},
		{"a\n", 1, 9, nil, ErrInvalidName},
		{strings.Repeat("a", 51), 1, 9, nil, ErrInvalidName},
		{"a", -1, 5, nil, ErrInvalidRange},
		{"a", 5, 4, nil, ErrInvalidRange},
		{"a", math.MinInt64, math.MaxInt64, nil, ErrInvalidRange},
	} {
		n, err := Tx{c.in}.Next(t.Context(), c.name, c.first, c.last)
		if !errors.Is(err, c.err) || (n == 7) != (c.err == nil) {
			t.Errorf("%q, %d to %d: %d, %v, want %v", c.name, c.first, c.last, n, err, c.err)
		}
		if c.in != nil && err != nil && !strings.HasPrefix(err.Error(), `gapless: next of "books": `) {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}
