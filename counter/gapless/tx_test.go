package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/randflake/randflake/internal/test/require"
)

// An answering transaction gives the same answers to all calls, as a server would.
type answering struct {
	made        bool
	taken, last sql.NullInt64
	rows        []row  // the counters, in order
	err         error  // after the rows
	pages       int    // that were read
	asked       string // by the last call
}

func (a *answering) create(_ context.Context, name string, taken, last int64) (bool, error) {
	a.asked = fmt.Sprintf("create %s after %d to %d", name, taken, last)
	return a.made, a.err
}

func (a *answering) take(_ context.Context, name string, n int64) (taken, last sql.NullInt64, err error) {
	a.asked = fmt.Sprintf("take %d of %s", n, name)
	return a.taken, a.last, a.err
}

func (a *answering) takeOrCreate(_ context.Context, name string, start, last int64) (taken, end sql.NullInt64, err error) {
	a.asked = fmt.Sprintf("take or create %s from %d to %d", name, start, last)
	return a.taken, a.last, a.err
}

func (a *answering) list(_ context.Context, prefix, after string, limit int) (page []row, err error) {
	a.pages++
	for _, r := range a.rows {
		if len(page) < limit && strings.HasPrefix(r.Name, prefix) && r.Name > after {
			page = append(page, r)
		}
	}
	if len(page) < limit {
		return page, a.err
	}
	return page, nil
}

// TestErrors: an error of the transaction comes out of every call, with the counter's name.
func TestErrors(t *testing.T) {
	failed := errors.New("the connection broke")
	tx := Tx{&answering{err: failed}}
	for call, do := range map[string]func() error{
		"Create":       func() error { return tx.Create(t.Context(), "books", 1, 9) },
		"Next":         func() error { return require.Err(tx.Next(t.Context(), "books")) },
		"NextN":        func() error { return require.Err(tx.NextN(t.Context(), "books", 3)) },
		"NextOrCreate": func() error { return require.Err(tx.NextOrCreate(t.Context(), "books", 1, 9)) },
		"Peek":         func() error { return require.Err(tx.Peek(t.Context(), "books")) },
		"List": func() (last error) {
			for _, err := range tx.List(t.Context(), "books") {
				last = errors.Join(last, err)
			}
			return last
		},
	} {
		if err := do(); !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "gapless: ") || strings.Count(err.Error(), `"books"`) != 1 {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestAnswers: a number is what the transaction took, and where there is none the error says why.
func TestAnswers(t *testing.T) {
	number := func(n int64) sql.NullInt64 { return sql.NullInt64{Int64: n, Valid: true} }
	none := sql.NullInt64{}
	for _, c := range []struct {
		taken, last   sql.NullInt64
		n             int
		first         int64
		err, orCreate error
	}{
		{number(0), number(9), 1, 0, nil, nil},
		{number(7), number(9), 1, 7, nil, nil},
		{number(7), number(7), 3, 5, nil, nil},
		{number(math.MaxInt64), number(math.MaxInt64), 1, math.MaxInt64, nil, nil},
		{none, number(9), 1, 0, ErrEnded, ErrEnded},
		{none, none, 1, 0, ErrNoCounter, ErrEnded},
	} {
		a := &answering{taken: c.taken, last: c.last}
		tx := Tx{a}
		first, err := tx.NextN(t.Context(), "books", c.n)
		require.That(t, first == c.first && errors.Is(err, c.err), "NextN, %+v: %d, %v", c, first, err)
		want := fmt.Sprintf("take %d of books", c.n)
		require.That(t, a.asked == want, "%q, want %q", a.asked, want)
		taken, err := tx.NextOrCreate(t.Context(), "books", 1, 9)
		require.That(t, taken == c.taken.Int64 && errors.Is(err, c.orCreate),
			"NextOrCreate, %+v: %d, %v", c, taken, err)
		want = "take or create books from 1 to 9"
		require.That(t, a.asked == want, "%q, want %q", a.asked, want)
	}
	a := &answering{taken: number(7)}
	require.Gives(t, int64(7), "Next")(Tx{a}.Next(t.Context(), "books"))
	require.Equal(t, a.asked, "take 1 of books", "Next asks to")
	a = &answering{made: true}
	require.NoError(t, Tx{a}.Create(t.Context(), "books", 1, 9))
	require.Equal(t, a.asked, "create books after 0 to 9", "Create asks to")
	require.ErrorIs(t, (Tx{&answering{made: false}}).Create(t.Context(), "books", 1, 9), fs.ErrExist, "a counter that is there")
}

// TestPeek: a counter is found by its whole name, and at its end it has no next number.
func TestPeek(t *testing.T) {
	tx := Tx{&answering{rows: []row{
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
		require.Gives(t, want, "Peek(%q)", name)(tx.Peek(t.Context(), name))
	}
	for _, name := range []string{"e", "f"} {
		require.Refuses(t, ErrNoCounter, "Peek(%q)", name)(tx.Peek(t.Context(), name))
	}
}

// TestList: all pages are read, and no more; who stops early reads no further, and an error is the
// last that comes.
func TestList(t *testing.T) {
	many := make([]row, 2*pageSize)
	for i := range many {
		many[i] = row{fmt.Sprintf("a%05d", i), 0, 9}
	}
	failed := errors.New("the connection broke")
	for _, c := range []struct {
		rows, stop, listed, pages int
		err                       error
	}{
		{0, -1, 0, 1, nil},
		{3, -1, 3, 1, nil},
		{pageSize - 1, -1, pageSize - 1, 1, nil},
		{pageSize, -1, pageSize, 2, nil},
		{pageSize + 1, -1, pageSize + 1, 2, nil},
		{2 * pageSize, 7, 7, 1, nil},
		{2 * pageSize, pageSize + 7, pageSize + 7, 2, nil},
		{pageSize + 1, -1, pageSize, 2, failed},
	} {
		a := &answering{rows: many[:c.rows], err: c.err}
		var names []string
		var last error
		for info, err := range (Tx{a}).List(t.Context(), "a") {
			if last = err; err == nil {
				names = append(names, info.Name)
			}
			if len(names) == c.stop {
				break
			}
		}
		require.That(t, len(names) == c.listed && slices.IsSorted(names) && a.pages == c.pages && last != nil == (c.err != nil),
			"%+v: %d in %d pages, %v", c, len(names), a.pages, last)
	}
}

// TestNames: a name has up to 50 characters, of which the first and the last one are letters or digits.
func TestNames(t *testing.T) {
	tx := Tx{&answering{made: true}}
	for _, name := range []string{"a", "0", "a/b", "9_9", "z.-z", strings.Repeat("z", 50)} {
		require.NoError(t, tx.Create(t.Context(), name, 0, 0))
	}
}
