package gapless

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// A table is a transaction that lists its counters, and ends with err.
type table struct {
	answering
	counters []counter // by name
	pages    int       // that were read
}

func (t *table) list(_ context.Context, prefix, after string, limit int) (page []counter, err error) {
	t.pages++
	for _, c := range t.counters {
		if len(page) < limit && strings.HasPrefix(c.Name, prefix) && c.Name > after {
			page = append(page, c)
		}
	}
	if len(page) < limit {
		return page, t.err
	}
	return page, nil
}

// TestPeek: a counter is found by its whole name, and at its end it has no next number.
func TestPeek(t *testing.T) {
	tx := Tx{&table{counters: []counter{
		{"a", -1, 5},
		{"b", 4, 5},
		{"c", 5, 5},
		{"d", -1, math.MaxInt64},
		{"eggs", 1, 5},
	}}}
	for name, want := range map[string]Info{
		"a": {"a", 0, 5, 6},
		"b": {"b", 5, 5, 1},
		"c": {"c", 0, 5, 0},
		"d": {"d", 0, math.MaxInt64, 1 << 63},
	} {
		if info, err := tx.Peek(t.Context(), name); info != want || err != nil {
			t.Errorf("%+v, %v, want %+v", info, err, want)
		}
	}
	broken := errors.New("the connection broke")
	for name, c := range map[string]struct {
		in  transaction
		err error
	}{
		"e":     {tx.in, ErrNoCounter},
		"f":     {tx.in, ErrNoCounter},
		"a'":    {nil, ErrInvalidName},
		"books": {&table{answering: answering{err: broken}}, broken},
	} {
		info, err := Tx{c.in}.Peek(t.Context(), name)
		if info != (Info{}) || !errors.Is(err, c.err) || !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("%s: %+v, %v, want %v", name, info, err, c.err)
		}
	}
}

// TestList: all pages are read, and no more; who stops early reads no further, and an error is the last that comes.
func TestList(t *testing.T) {
	many := make([]counter, 2*pageSize)
	for i := range many {
		many[i] = counter{fmt.Sprintf("a%05d", i), 0, 9}
	}
	broken := errors.New("the connection broke")
	for _, c := range []struct {
		prefix                 string
		has, stop, want, pages int
		err                    error
	}{
		{"a", 0, -1, 0, 1, nil},
		{"a", 3, -1, 3, 1, nil},
		{"a", pageSize - 1, -1, pageSize - 1, 1, nil},
		{"a", pageSize, -1, pageSize, 2, nil},
		{"a", pageSize + 1, -1, pageSize + 1, 2, nil},
		{"a", 2 * pageSize, 7, 7, 1, nil},
		{"a", 2 * pageSize, pageSize + 7, pageSize + 7, 2, nil},
		{"a", pageSize + 1, -1, pageSize, 2, broken},
		{"", 3, -1, 3, 1, nil},
		{"a'", 3, -1, 0, 0, ErrInvalidName},
	} {
		in := &table{counters: many[:c.has]}
		in.err = c.err
		var names []string
		var last error
		for info, err := range (Tx{in}).List(t.Context(), c.prefix) {
			last = err
			if err == nil {
				names = append(names, info.Name)
			}
			if len(names) == c.stop {
				break
			}
		}
		if len(names) != c.want || !slices.IsSorted(names) || in.pages != c.pages || !errors.Is(last, c.err) {
			t.Errorf("%+v: %d in %d pages, %v", c, len(names), in.pages, last)
		}
	}
}
