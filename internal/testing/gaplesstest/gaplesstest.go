// Package gaplesstest tests package gapless on real servers.
package gaplesstest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
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
	Trips  int64                              // round trips of a call
	Commit string                             // the text that the driver sends to commit
	Addr   string                             // of the server
	End    func() error                       // stops the server
	Start  func() error                       // starts the server again
}

// Run tests package gapless on a real server, for the modules that have drivers.
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
	t.Run("list", func(t *testing.T) { d.list(t, db) })
	t.Run("new year", func(t *testing.T) { d.newYear(t, db) })
	t.Run("faults", func(t *testing.T) { d.faults(t, db, proxy) })
	t.Run("control", func(t *testing.T) { d.control(t, db) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newYear tests that transactions that take the first number of a series at the same moment all get one, and that none has
// to be run again, if the first one commits and if it rolls back.
func (d Database) newYear(t *testing.T, db *sql.DB) {
	for round := range 20 {
		name := fmt.Sprintf("at-once/%d", round)
		take := func(tx *sql.Tx) (int64, error) { return d.In(tx).Next(t.Context(), name, 1, 11) }
		begun := make([]*sql.Tx, 11)
		for i := range begun {
			tx, err := db.BeginTx(t.Context(), []*sql.TxOptions{nil, {Isolation: sql.LevelReadCommitted}}[round%2])
			must(t, err)
			defer tx.Rollback()
			begun[i] = tx
		}
		first, err := take(begun[0])
		must(t, err)
		if first != 1 {
			t.Errorf("the first is %d", first)
		}
		numbers := make([]int64, 10)
		failed := make([]error, 10)
		var wg sync.WaitGroup
		for i := range failed {
			wg.Go(func() {
				tx := begun[1+i]
				numbers[i], failed[i] = take(tx)
				if failed[i] == nil {
					failed[i] = tx.Commit()
				}
			})
		}
		time.Sleep(20 * time.Millisecond) // for the others to wait, without which the test is easier
		if round/2%2 == 1 {
			must(t, begun[0].Commit())
			numbers = append(numbers, first)
		} else {
			must(t, begun[0].Rollback())
		}
		wg.Wait()
		slices.Sort(numbers)
		if err := errors.Join(failed...); err != nil || check(numbers) != nil {
			t.Fatalf("%s: %v, %v", name, numbers, err)
		}
		must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
			n, err := tx.Next(t.Context(), name, 1, 99)
			if last := numbers[len(numbers)-1]; last == 11 && !errors.Is(err, gapless.ErrEnd) || last == 10 && n != 11 {
				t.Errorf("%d, %v after %d: want 11, or ErrEnd after it", n, err, last)
			}
			return nil
		}))
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

// steps tests that numbers are consecutive, how many round trips a call takes, and that a transaction can continue
// after an error.
func (d Database) steps(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		for i, step := range []struct {
			name  string
			first int64
			last  int64
			want  int64
			err   error
		}{
			{"book", 0, 2, 0, nil},
			{"book", 5, 9, 1, nil}, // it stays as it is
			{"far", math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 - 1, nil},
			{"book", 0, 2, 2, nil},
			{"book", 0, 2, 0, gapless.ErrEnd},
			{"book", 0, 9, 0, gapless.ErrEnd},
			{"far", 1, 2, math.MaxInt64, nil},
			{"far", 1, 2, 0, gapless.ErrEnd},
		} {
			before := proxy.Requests()
			n, err := tx.Next(t.Context(), step.name, step.first, step.last)
			if n != step.want || !errors.Is(err, step.err) {
				t.Errorf("step %d: %d, %v; want %d, %v", i+1, n, err, step.want, step.err)
			}
			created := n == step.first
			if trips := proxy.Requests() - before; err == nil && !created && trips != d.Trips {
				t.Errorf("step %d made %d round trips, want %d", i+1, trips, d.Trips)
			}
		}
		return nil
	}))
}

// list tests that a transaction sees each counter, of more than a page, and those that it changed itself.
func (d Database) list(t *testing.T, db *sql.DB) {
	insert := "INSERT INTO randflake_gapless (name, taken, last) VALUES ('list', 5, 5)"
	for i := range 1001 {
		insert += fmt.Sprintf(", ('list/%04d', %d, %d)", i, i-1, int64(math.MaxInt64))
	}
	_, err := db.ExecContext(t.Context(), insert)
	must(t, err)
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		listed := 0
		for info, err := range tx.List(t.Context(), "list/") {
			next := int64(listed)
			left := uint64(math.MaxInt64) - uint64(listed) + 1
			want := gapless.Info{Name: fmt.Sprintf("list/%04d", listed), Next: next, Last: math.MaxInt64, Left: left}
			if err != nil || info != want {
				t.Fatalf("%+v, %v, want %+v", info, err, want)
			}
			listed++
		}
		if listed != 1001 {
			t.Errorf("%d listed, want 1001", listed)
		}
		for info, err := range tx.List(t.Context(), "") {
			if info.Name == "" || err != nil {
				t.Errorf("%+v, %v", info, err)
			}
		}
		if info, err := tx.Peek(t.Context(), "list"); info != (gapless.Info{Name: "list", Last: 5}) || err != nil {
			t.Errorf("at the end: %+v, %v", info, err)
		}
		if info, err := tx.Peek(t.Context(), "lis"); !errors.Is(err, gapless.ErrNoCounter) {
			t.Errorf("no counter: %+v, %v", info, err)
		}
		_, err := tx.Next(t.Context(), "list/new", 7, 9)
		must(t, err)
		if info, err := tx.Peek(t.Context(), "list/new"); info != (gapless.Info{Name: "list/new", Next: 8, Last: 9, Left: 2}) || err != nil {
			t.Errorf("its own: %+v, %v", info, err)
		}
		return nil
	}))
}

// workers is the number of concurrent transactions.
const workers = 20

// A round is many transactions that write invoices with the numbers that they take; a third of them is rolled back.
type round struct {
	db    *sql.DB
	name  string // of the counter
	take  func(ctx context.Context, tx *sql.Tx) (int64, error)
	fault func(attempt int64) bool // called when numbers are taken; returns whether it makes the commit fail

	attempts, committed, rolledBack, lost atomic.Int64
}

// run continues until want transactions are committed, and returns the numbers of the invoices, in order.
func (d Database) run(t *testing.T, r *round, want int64) (numbers []int64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for r.committed.Load() < want {
				err := r.transact(ctx)
				if ctx.Err() != nil {
					t.Errorf("%d of %d transactions in a minute, %v", r.committed.Load(), want, err)
					return
				}
				if err != nil {
					time.Sleep(5 * time.Millisecond) // the server may be down
				}
			}
		})
	}
	wg.Wait()
	rows, err := r.db.QueryContext(ctx, fmt.Sprintf("SELECT number FROM invoices WHERE counter = '%s' ORDER BY number", r.name))
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		numbers = append(numbers, 0)
		must(t, rows.Scan(&numbers[len(numbers)-1]))
	}
	must(t, rows.Err())
	return numbers
}

func (r *round) transact(ctx context.Context) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for range 1 + rand.IntN(3) {
		n, err := r.take(ctx, tx)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO invoices VALUES ('%s', %d)", r.name, n))
		if err != nil {
			return err
		}
	}
	attempt := r.attempts.Add(1)
	faulty := r.fault != nil && r.fault(attempt)
	if !faulty && rand.IntN(3) == 0 {
		r.rolledBack.Add(1)
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		r.lost.Add(1)
		return err
	}
	r.committed.Add(1)
	return nil
}

// check returns an error unless numbers are 1, 2, 3, and so on.
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

// faults tests that numbers have no gaps although connections break, the server is restarted, and a reply to a commit
// is lost while numbers are taken.
func (d Database) faults(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	r := round{db: db, name: "invoices/2026"}
	r.take = func(ctx context.Context, tx *sql.Tx) (int64, error) {
		return d.In(tx).Next(ctx, r.name, 1, math.MaxInt64)
	}
	r.fault = func(attempt int64) bool {
		switch attempt {
		case 40, 80, 120:
			proxy.Cut()
		case 160:
			if err := cmp.Or(d.End(), d.Start()); err != nil {
				t.Error(err)
			}
		case 200:
			proxy.LoseReply(d.Commit) // the reply to this transaction's commit: others wait for it
		default:
			return false
		}
		return true
	}
	numbers := d.run(t, &r, 200)
	if err := check(numbers); err != nil {
		t.Error(err)
	}
	t.Logf("%d numbers; transactions: %d committed, %d rolled back, %d lost", len(numbers), r.committed.Load(), r.rolledBack.Load(), r.lost.Load())
	if r.rolledBack.Load() == 0 || r.lost.Load() < 5 || !proxy.Lost() {
		t.Error("not all faults took place: the test shows nothing")
	}
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		next, err := tx.Next(t.Context(), r.name, 1, math.MaxInt64)
		if next != int64(len(numbers))+1 {
			t.Errorf("the next is %d, want %d", next, len(numbers)+1)
		}
		return err
	}))
}

// control tests that check finds the duplicates of a wrong implementation.
func (d Database) control(t *testing.T, db *sql.DB) {
	_, err := db.ExecContext(t.Context(), "INSERT INTO randflake_gapless (name, taken, last) VALUES ('no-lock', 0, 999999)")
	must(t, err)
	noLock := round{db: db, name: "no-lock", take: func(ctx context.Context, tx *sql.Tx) (taken int64, err error) {
		err = tx.QueryRowContext(ctx, "SELECT taken FROM randflake_gapless WHERE name = 'no-lock'").Scan(&taken)
		if err == nil {
			_, err = tx.ExecContext(ctx, fmt.Sprintf("UPDATE randflake_gapless SET taken = %d WHERE name = 'no-lock'", taken+1))
		}
		return taken + 1, err
	}}
	err = check(d.run(t, &noLock, 60))
	if err == nil {
		t.Error("nothing is found")
	}
	t.Log(err)
}
