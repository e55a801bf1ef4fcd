// Package gapless tests package gapless of counter on real servers, by the drivers that they have.
package gapless

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
)

// A database is one of the test's own, on a server that the test may stop.
type database struct {
	schema string
	in     func(*sql.Tx) gapless.Tx
	open   func(addr string) (*sql.DB, error) // opens the database through another address
	commit string                             // the text that the driver sends to commit
	addr   string                             // of the server
	end    func() error                       // stops the server
	start  func() error                       // starts the server again
}

// test tests package gapless on a real server.
func (d database) test(t *testing.T) {
	proxy, err := servers.StartProxy(d.addr)
	must(t, err)
	defer proxy.Close()
	db, err := d.open(proxy.Addr())
	must(t, err)
	defer db.Close()
	db.SetMaxIdleConns(workers)
	for _, statement := range []string{d.schema, d.schema, "CREATE TABLE invoices (counter VARCHAR(50), number BIGINT)"} {
		require.Done(t)(db.ExecContext(t.Context(), statement))
	}
	t.Run("steps", func(t *testing.T) { d.steps(t, db, proxy) })
	t.Run("new year", func(t *testing.T) { d.newYear(t, db) })
	t.Run("faults", func(t *testing.T) { d.faults(t, db, proxy) })
	t.Run("control", func(t *testing.T) { d.control(t, db) })
}

// must ends a test on an error.
var must = require.NoError

// newYear tests that transactions that take the first number of a series at the same moment all get one, and that none
// has to be run again, if the first one commits and if it rolls back; and that a number may come from Create and Next.
func (d database) newYear(t *testing.T, db *sql.DB) {
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
			require.Gives(t, int64(1), "the first number")(take(d.in(begun[0]), name))
			numbers, failed := make([]int64, 10), make([]error, 10)
			var wg sync.WaitGroup
			for i := range failed {
				wg.Go(func() {
					tx := begun[1+i]
					if numbers[i], failed[i] = take(d.in(tx), name); failed[i] == nil {
						failed[i] = tx.Commit()
					}
				})
			}
			time.Sleep(20 * time.Millisecond) // for the others to wait, without which the test is easier
			end, other := begun[0].Rollback, []int64(nil)
			if round/2%2 == 1 {
				end, other = begun[0].Commit, []int64{1}
			}
			must(t, end())
			wg.Wait()
			numbers = append(numbers, other...)
			slices.Sort(numbers)
			err := errors.Join(failed...)
			require.Must(t, err == nil && check(numbers) == nil, "%s: %v, %v", name, numbers, err)
			must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
				n, err := tx.NextOrCreate(t.Context(), name, 1, 99)
				last := numbers[len(numbers)-1]
				follows := last == 11 && errors.Is(err, gapless.ErrEnded) || last == 10 && n == 11
				require.That(t, follows, "%d, %v after %d: want 11, or ErrEnded after it", n, err, last)
				return nil
			}))
		}
	}
}

// within runs do in a transaction, and commits it unless do returns an error.
func (d database) within(ctx context.Context, db *sql.DB, do func(tx gapless.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(d.in(tx)); err != nil {
		return err
	}
	return tx.Commit()
}

// steps tests that numbers are consecutive, that each call takes one round trip, and that a
// transaction can continue after an error.
func (d database) steps(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		require.Refuses(t, gapless.ErrNoCounter, "no counter")(tx.Next(t.Context(), "book"))
		must(t, tx.Create(t.Context(), "book", 0, 5))
		require.ErrorIs(t, tx.Create(t.Context(), "book", 5, 9), fs.ErrExist, "once more")
		must(t, tx.Create(t.Context(), "far", math.MaxInt64-1, math.MaxInt64))
		for i := range 1001 { // more than a page
			must(t, tx.Create(t.Context(), fmt.Sprintf("list/%04d", i), int64(i), math.MaxInt64))
		}
		i := 0
		for info, err := range tx.List(t.Context(), "list/") {
			want := gapless.Info{Name: fmt.Sprintf("list/%04d", i), Next: int64(i), Last: math.MaxInt64, Left: uint64(math.MaxInt64) - uint64(i) + 1}
			require.Must(t, err == nil && info == want, "%+v, %v, want %+v", info, err, want)
			i++
		}
		require.Equal(t, i, 1001, "counters that are listed")
		require.Refuses(t, gapless.ErrNoCounter, "Peek without a counter")(tx.Peek(t.Context(), "list"))
		for _, step := range []struct {
			name  string
			n     int
			first int64
			err   error
		}{
			{"book", 7, 0, gapless.ErrEnded}, {"book", 1, 0, nil}, {"book", 4, 1, nil}, {"book", 2, 0, gapless.ErrEnded}, {"book", 1, 5, nil},
			{"book", 1, 0, gapless.ErrEnded}, {"far", 1, math.MaxInt64 - 1, nil}, {"far", 1, math.MaxInt64, nil}, {"far", math.MaxInt, 0,
				gapless.ErrEnded},
		} {
			before := proxy.Requests()
			first, err := tx.NextN(t.Context(), step.name, step.n)
			require.That(t, first == step.first && errors.Is(err, step.err),
				"NextN(%q, %d) = %d, %v; want %d, %v", step.name, step.n, first, err, step.first, step.err)
			trips := proxy.Requests() - before
			require.That(t, trips == 1 || err != nil, "NextN(%q, %d) made %d round trips", step.name, step.n, trips)
		}
		require.Gives(t, (gapless.Info{Name: "book", Last: 5}), "at the end")(tx.Peek(t.Context(), "book"))
		return nil
	}))
}

// workers is the number of concurrent transactions.
const workers = 20

// A round is many transactions that write invoices with the numbers that they take; a third of them is rolled back.
type round struct {
	db    *sql.DB
	name  string // of the counter
	take  func(ctx context.Context, tx *sql.Tx, n int) (first int64, err error)
	fault func(attempt int64) bool // called when numbers are taken; returns whether it makes the commit fail

	attempts, committed, rolledBack, lost atomic.Int64
}

// run continues until want transactions are committed, and returns the numbers of the invoices, in order.
func (d database) run(t *testing.T, r *round, want int64) (numbers []int64) {
	must(t, d.within(t.Context(), r.db, func(tx gapless.Tx) error { return tx.Create(t.Context(), r.name, 1, math.MaxInt64) }))
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
	n := 1 + rand.IntN(3)
	first, err := r.take(ctx, tx, n)
	if err != nil {
		return err
	}
	for i := range n {
		_, failed := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO invoices VALUES ('%s', %d)", r.name, first+int64(i)))
		err = cmp.Or(err, failed)
	}
	if attempt := r.attempts.Add(1); err == nil && (r.fault == nil || !r.fault(attempt)) && rand.IntN(3) == 0 {
		r.rolledBack.Add(1)
		return tx.Rollback()
	}
	if err = cmp.Or(err, tx.Commit()); err != nil {
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

// faults tests that numbers have no gaps although connections break, the server is restarted, and a
// reply to a commit is lost while numbers are taken.
func (d database) faults(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	r := round{db: db, name: "invoices/2026"}
	r.take = func(ctx context.Context, tx *sql.Tx, n int) (int64, error) { return d.in(tx).NextN(ctx, r.name, n) }
	r.fault = func(attempt int64) bool {
		switch attempt {
		case 40, 80, 120:
			proxy.Cut()
		case 160:
			require.NoError(t, cmp.Or(d.end(), d.start()))
		case 200:
			proxy.LoseReply(d.commit) // the reply to this transaction's commit: others wait for it
		default:
			return false
		}
		return true
	}
	numbers := d.run(t, &r, 200)
	require.NoError(t, check(numbers))
	t.Logf("%d numbers; transactions: %d committed, %d rolled back, %d lost", len(numbers), r.committed.Load(),
		r.rolledBack.Load(), r.lost.Load())
	require.That(t, r.rolledBack.Load() != 0 && r.lost.Load() >= 5 && proxy.Lost(),
		"not all faults took place: the test shows nothing")
	must(t, d.within(t.Context(), db, func(tx gapless.Tx) error {
		next, err := tx.Next(t.Context(), r.name)
		require.That(t, next == int64(len(numbers))+1, "the next is %d, want %d", next, len(numbers)+1)
		return err
	}))
}

// control tests that check finds the duplicates of a wrong implementation.
func (d database) control(t *testing.T, db *sql.DB) {
	noLock := round{db: db, name: "no-lock", take: func(ctx context.Context, tx *sql.Tx, n int) (taken int64, err error) {
		err = tx.QueryRowContext(ctx, "SELECT taken FROM randflake_gapless WHERE name = 'no-lock'").Scan(&taken)
		if err == nil {
			_, err = tx.ExecContext(ctx, fmt.Sprintf("UPDATE randflake_gapless SET taken = %d WHERE name = 'no-lock'", taken+int64(n)))
		}
		return taken + 1, err
	}}
	err := check(d.run(t, &noLock, 60))
	require.That(t, err != nil, "nothing is found")
	t.Log(err)
}
