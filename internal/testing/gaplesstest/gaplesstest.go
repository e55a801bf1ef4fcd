// Package gaplesstest tests package gapless on a real server, for the modules that have drivers.
package gaplesstest

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"testing"

	"github.com/randflake/randflake/segments/gapless"
	"github.com/randflake/randflake/store/storetest/servers"
)

// A Database is one of the test's own, on a server that it may kill.
type Database struct {
	Schema string
	In     func(*sql.Tx) gapless.Tx
	Open   func(addr string) (*sql.DB, error) // by way of another address
	Commit string                             // what the driver sends
	Server interface {
		Addr() string
		Kill() error
		Start() error
	}
}

// Run runs all tests.
func Run(t *testing.T, d Database) {
	proxy, err := servers.StartProxy(d.Server.Addr())
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
	t.Run("errors", func(t *testing.T) { d.errors(t, db) })
	t.Run("create", func(t *testing.T) { d.create(t, db) })
	t.Run("round trips", func(t *testing.T) { d.roundTrips(t, db, proxy) })
	t.Run("faults", func(t *testing.T) { d.faults(t, db, proxy) })
	t.Run("controls", func(t *testing.T) { d.controls(t, db) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within runs do in a transaction, and commits it.
func (d Database) within(t *testing.T, db *sql.DB, do func(tx gapless.Tx)) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	defer tx.Rollback()
	do(d.In(tx))
	must(t, tx.Commit())
}

// errors: what can't be done says why, and the transaction goes on.
func (d Database) errors(t *testing.T, db *sql.DB) {
	d.within(t, db, func(tx gapless.Tx) {
		if _, err := tx.Next(t.Context(), "book"); !errors.Is(err, gapless.ErrNoCounter) {
			t.Errorf("no counter: %v", err)
		}
		must(t, tx.Create(t.Context(), "book", 0, 3))
		if err := tx.Create(t.Context(), "book", 5, 9); !errors.Is(err, fs.ErrExist) {
			t.Errorf("once more: %v, want ErrExist", err)
		}
		for _, step := range []struct {
			n     int
			first int64
			err   error
		}{{5, 0, gapless.ErrEnd}, {1, 0, nil}, {2, 1, nil}, {2, 0, gapless.ErrEnd}, {1, 3, nil}, {1, 0, gapless.ErrEnd}} {
			if first, err := tx.NextN(t.Context(), "book", step.n); first != step.first || !errors.Is(err, step.err) {
				t.Errorf("NextN(%d) = %d, %v; want %d, %v", step.n, first, err, step.first, step.err)
			}
		}
		must(t, tx.Create(t.Context(), "far", math.MaxInt64-1, math.MaxInt64))
		for want := int64(math.MaxInt64 - 1); want > 0; want++ { // overflows
			if got, err := tx.Next(t.Context(), "far"); got != want || err != nil {
				t.Errorf("Next = %d, %v; want %d", got, err, want)
			}
		}
		if _, err := tx.NextN(t.Context(), "far", math.MaxInt); !errors.Is(err, gapless.ErrEnd) {
			t.Errorf("after the last number of all: %v, want ErrEnd", err)
		}
	})
}

// create: one transaction creates a counter, and who waits for it finds that, whether it commits or not.
func (d Database) create(t *testing.T, db *sql.DB) {
	for _, commits := range []bool{false, true} {
		tx, err := db.BeginTx(t.Context(), nil)
		must(t, err)
		must(t, d.In(tx).Create(t.Context(), "new", 1, 9))
		other := make(chan error)
		go func() {
			tx, err := db.BeginTx(t.Context(), nil)
			if err == nil {
				err = d.In(tx).Create(t.Context(), "new", 1, 9)
				tx.Rollback()
			}
			other <- err
		}()
		end := tx.Rollback
		if commits {
			end = tx.Commit
		}
		must(t, end())
		if err := <-other; errors.Is(err, fs.ErrExist) != commits || !commits && err != nil {
			t.Errorf("after another that commits, %v: %v", commits, err)
		}
	}
}

// roundTrips: a number costs one, when the driver knows the statement.
func (d Database) roundTrips(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	d.within(t, db, func(tx gapless.Tx) {
		must(t, tx.Create(t.Context(), "trips", 1, math.MaxInt64))
		_, err := tx.Next(t.Context(), "trips")
		must(t, err)
		before := proxy.Requests()
		first, err := tx.NextN(t.Context(), "trips", 7)
		if trips := proxy.Requests() - before; err != nil || first != 2 || trips != 1 {
			t.Errorf("NextN = %d, %v in %d round trips; want 2 in one", first, err, trips)
		}
	})
}

// committed returns the numbers of invoices, in order.
func committed(t *testing.T, db *sql.DB, counter string) (numbers []int64) {
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf("SELECT number FROM invoices WHERE counter = '%s' ORDER BY number", counter))
	for retry := 0; err != nil && retry < 50; retry++ { // connections are those to a server that died
		rows, err = db.QueryContext(t.Context(), fmt.Sprintf("SELECT number FROM invoices WHERE counter = '%s' ORDER BY number", counter))
	}
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var number int64
		must(t, rows.Scan(&number))
		numbers = append(numbers, number)
	}
	must(t, rows.Err())
	return numbers
}

// check says what is wrong with numbers that ought to be 1, 2, 3, and so on.
func check(numbers []int64) error {
	for i, number := range numbers {
		switch {
		case i > 0 && number == numbers[i-1]:
			return fmt.Errorf("number %d is there twice", number)
		case number != int64(i)+1:
			return fmt.Errorf("number %d is missing: %d comes after %d others", i+1, number, i)
		}
	}
	return nil
}
