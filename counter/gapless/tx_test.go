package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
)

// An answering transaction gives the same answers to all calls, as a server would.
type answering struct {
	made        bool
	taken, last sql.NullInt64
	err         error
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

func (a *answering) takeOrCreate(_ context.Context, name string, first, last int64) (taken, end sql.NullInt64, err error) {
	a.asked = fmt.Sprintf("take or create %s from %d to %d", name, first, last)
	return a.taken, a.last, a.err
}

// TestErrors: an error of the transaction comes out of every call, with the counter's name.
func TestErrors(t *testing.T) {
	failed := errors.New("the connection broke")
	tx := Tx{&answering{err: failed}}
	for call, do := range map[string]func() error{
		"Create": func() error {
			return tx.Create(t.Context(), "books", 1, 9)
		},
		"Next": func() error {
			_, err := tx.Next(t.Context(), "books")
			return err
		},
		"NextN": func() error {
			_, err := tx.NextN(t.Context(), "books", 3)
			return err
		},
		"NextOrCreate": func() error {
			_, err := tx.NextOrCreate(t.Context(), "books", 1, 9)
			return err
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
		{none, number(9), 1, 0, ErrEnd, ErrEnd},
		{none, none, 1, 0, ErrNoCounter, ErrEnd},
	} {
		a := &answering{taken: c.taken, last: c.last}
		tx := Tx{a}
		first, err := tx.NextN(t.Context(), "books", c.n)
		if first != c.first || !errors.Is(err, c.err) {
			t.Errorf("NextN, %+v: %d, %v", c, first, err)
		}
		if want := fmt.Sprintf("take %d of books", c.n); a.asked != want {
			t.Errorf("%q, want %q", a.asked, want)
		}
		taken, err := tx.NextOrCreate(t.Context(), "books", 1, 9)
		if taken != c.taken.Int64 || !errors.Is(err, c.orCreate) {
			t.Errorf("NextOrCreate, %+v: %d, %v", c, taken, err)
		}
		if want := "take or create books from 1 to 9"; a.asked != want {
			t.Errorf("%q, want %q", a.asked, want)
		}
	}
	a := &answering{taken: number(7)}
	if n, err := (Tx{a}).Next(t.Context(), "books"); n != 7 || err != nil || a.asked != "take 1 of books" {
		t.Errorf("%d, %v, by %q", n, err, a.asked)
	}
	a = &answering{made: true}
	if err := (Tx{a}).Create(t.Context(), "books", 1, 9); err != nil || a.asked != "create books after 0 to 9" {
		t.Errorf("%v, by %q", err, a.asked)
	}
	if err := (Tx{&answering{made: false}}).Create(t.Context(), "books", 1, 9); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a counter that is there: %v", err)
	}
}

// TestNames: a name has up to 50 characters, of which the first and the last one are letters or digits.
func TestNames(t *testing.T) {
	tx := Tx{&answering{made: true}}
	for _, name := range []string{"a", "0", "a/b", "9_9", "z.-z", strings.Repeat("z", 50)} {
		if err := tx.Create(t.Context(), name, 0, 0); err != nil {
			t.Error(err)
		}
	}
}
