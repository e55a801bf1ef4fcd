// Package gaplesstest tests package gapless on a real server, for the modules that have drivers.
package gaplesstest

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"math"
	"testing"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/store/storetest/servers"
)

// A Database is a database of the test's own, on a server that the test may stop.
type Database struct {
	Schema string
	In     func(*sql.Tx) gapless.Tx
	Open   func(addr string) (*sql.DB, error) // opens the database through another address
	Commit string                             // the text that the driver sends to commit
	Addr   string                             // of the server
	End    func() error                       // stops the server
	Start  func() error                       // starts the server again
}

// Run runs all tests.
func Run(t *testing.T, d Database) {
	proxy, err := servers.StartProxy(d.Addr)
	must(t, err)
	defer proxy.Close()
	db, err := d.Open(proxy.Addr())
	must(t, err)
	defer db.Close()
	db.SetMaxIdleConns(workers)
	for _, statement := range []string{d.Schema, d.Schema, "CREATE TABLE invoices (counter VARCHAR(50), number BIGINT)"} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	t.Run("steps", func(t *testing.T) { d.steps(t, db, proxy) })
	t.Run("create", func(t *testing.T) { d.create(t, db) })
	t.Run("faults", func(t *testing.T) { d.faults(t, db, proxy) })
	t.Run("controls", func(t *testing.T) { d.controls(t, db) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within runs do in a transaction, and commits it unless do returns an error.
func (d Database) within(ctx context.Context, db *sql.DB, do func(tx gapless.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(d.In(tx)); err != nil {
		return err
	}
	return tx.Commit()
}

// steps tests that numbers are consecutive, that each call takes one round trip, and that a transaction can continue
// after an error.
func (d Database) steps(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		if _, err := tx.Next(t.Context(), "book"); !errors.Is(err, gapless.ErrNoCounter) {
			t.Errorf("no counter: %v", err)
		}
		must(t, tx.Create(t.Context(), "book", 0, 5))
		if err := tx.Create(t.Context(), "book", 5, 9); !errors.Is(err, fs.ErrExist) {
			t.Errorf("once more: %v, want ErrExist", err)
		}
		must(t, tx.Create(t.Context(), "far", math.MaxInt64-1, math.MaxInt64))
		for _, step := range []struct {
			name  string
			n     int
			first int64
			err   error
		}{
			{"book", 7, 0, gapless.ErrEnd}, {"book", 1, 0, nil}, {"book", 4, 1, nil}, {"book", 2, 0, gapless.ErrEnd}, {"book", 1, 5, nil},
			{"book", 1, 0, gapless.ErrEnd}, {"far", 1, math.MaxInt64 - 1, nil}, {"far", 1, math.MaxInt64, nil}, {"far", math.MaxInt, 0, gapless.ErrEnd},
		} {
			before := proxy.Requests()
			first, err := tx.NextN(t.Context(), step.name, step.n)
			if first != step.first || !errors.Is(err, step.err) {
				t.Errorf("NextN(%q, %d) = %d, %v; want %d, %v", step.name, step.n, first, err, step.first, step.err)
			}
			if trips := proxy.Requests() - before; err == nil && trips != 1 {
				t.Errorf("NextN(%q, %d) made %d round trips", step.name, step.n, trips)
			}
		}
		return nil
	}))
}

// create tests two transactions that create the same counter: the second finds it if the first commits.
func (d Database) create(t *testing.T, db *sql.DB) {
	for name, end := range map[string]error{"rolled-back": errors.New("changed its mind"), "committed": nil} {
		create := func(tx gapless.Tx) error { return tx.Create(t.Context(), name, 1, 9) }
		other := make(chan error, 1)
		d.within(t.Context(), db, func(tx gapless.Tx) error {
			must(t, create(tx))
			go func() { other <- d.within(t.Context(), db, create) }()
			return end
		})
		if err := <-other; end == nil && !errors.Is(err, fs.ErrExist) || end != nil && err != nil {
			t.Errorf("after another that was %s: %v", name, err)
		}
	}
}
