// Package gaplesstest tests package gapless on a real server, for the modules that have drivers.
package gaplesstest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/internal/servers"
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
	t.Run("new year", func(t *testing.T) { d.newYear(t, db) })
	t.Run("list", func(t *testing.T) { d.list(t, db) })
	t.Run("faults", func(t *testing.T) { d.faults(t, db, proxy) })
	t.Run("controls", func(t *testing.T) { d.controls(t, db) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newYear tests that transactions that take the first number of a series at the same moment all get one, and that none has
// to be run again, if the first one commits and if it rolls back; and that a number may come from Create and Next.
func (d Database) newYear(t *testing.T, db *sql.DB) {
	ways := map[string]func(gapless.Tx, string) (int64, error){
		"at-once": func(tx gapless.Tx, name string) (int64, error) { return tx.NextOrCreate(t.Context(), name, 1, 11) },
		"create": func(tx gapless.Tx, name string) (int64, error) {
			if err := tx.Create(t.Context(), name, 1, 11); err != nil && !errors.Is(err, fs.ErrExist) {
				return 0, err
			}
			return tx.Next(t.Context(), name)
		},
	}
	for way, take := range ways {
		for round := range 20 {
			name := fmt.Sprintf("%s/%d", way, round)
			begun := make([]*sql.Tx, 11)
			for i := range begun {
				tx, err := db.BeginTx(t.Context(), []*sql.TxOptions{nil, {Isolation: sql.LevelReadCommitted}}[round%2])
				must(t, err)
				defer tx.Rollback()
				begun[i] = tx
			}
			first, err := take(d.In(begun[0]), name)
			if must(t, err); first != 1 {
				t.Errorf("the first is %d", first)
			}
			numbers, failed := make([]int64, 10), make([]error, 10)
			var wg sync.WaitGroup
			for i := range failed {
				wg.Go(func() {
					tx := begun[1+i]
					if numbers[i], failed[i] = take(d.In(tx), name); failed[i] == nil {
						failed[i] = tx.Commit()
					}
				})
			}
			time.Sleep(20 * time.Millisecond) // for the others to wait, without which the test is easier
			end, other := begun[0].Rollback, []int64(nil)
			if round/2%2 == 1 {
				end, other = begun[0].Commit, []int64{first}
			}
			must(t, end())
			wg.Wait()
			numbers = append(numbers, other...)
			slices.Sort(numbers)
			if err := errors.Join(failed...); err != nil || check(numbers) != nil {
				t.Fatalf("%s: %v, %v", name, numbers, err)
			}
			must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
				n, err := tx.NextOrCreate(t.Context(), name, 1, 99)
				if last := numbers[len(numbers)-1]; last == 11 && !errors.Is(err, gapless.ErrEnd) || last == 10 && n != 11 {
					t.Errorf("%d, %v after %d: want 11, or ErrEnd after it", n, err, last)
				}
				return nil
			}))
		}
	}
}

// list tests Peek and List, over several pages.
func (d Database) list(t *testing.T, db *sql.DB) {
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		for i := range 1001 {
			must(t, tx.Create(t.Context(), fmt.Sprintf("list/%04d", i), int64(i), math.MaxInt64))
		}
		must(t, tx.Create(t.Context(), "list-all", 0, 0))
		i := 0
		for info, err := range tx.List(t.Context(), "list/") {
			want := gapless.Info{Name: fmt.Sprintf("list/%04d", i), Next: int64(i), Last: math.MaxInt64, Left: uint64(math.MaxInt64 - i + 1)}
			if err != nil || info != want {
				t.Fatalf("%+v, %v, want %+v", info, err, want)
			}
			i++
		}
		for name, want := range map[string]error{"list": gapless.ErrNoCounter, "list-all": nil} {
			if info, err := tx.Peek(t.Context(), name); i != 1001 || !errors.Is(err, want) || want == nil && info != (gapless.Info{Name: name, Left: 1}) {
				t.Errorf("%d listed; %s: %+v, %v, want %v", i, name, info, err, want)
			}
		}
		_, err := tx.Next(t.Context(), "list-all")
		must(t, err)
		if info, err := tx.Peek(t.Context(), "list-all"); info != (gapless.Info{Name: "list-all"}) || err != nil {
			t.Errorf("at the end: %+v, %v", info, err)
		}
		return nil
	}))
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
