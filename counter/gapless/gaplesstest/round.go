package gaplesstest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/internal/servers"
)

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
func (d Database) run(t *testing.T, r *round, want int64) (numbers []int64) {
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

// faults tests that numbers have no gaps although connections break, the server is restarted, and a reply to a commit
// is lost while numbers are taken.
func (d Database) faults(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	r := round{db: db, name: "invoices/2026"}
	r.take = func(ctx context.Context, tx *sql.Tx, n int) (int64, error) { return d.In(tx).NextN(ctx, r.name, n) }
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
		next, err := tx.Next(t.Context(), r.name)
		if next != int64(len(numbers))+1 {
			t.Errorf("the next is %d, want %d", next, len(numbers)+1)
		}
		return err
	}))
}

// controls tests that check finds the gaps and duplicates of two wrong implementations.
func (d Database) controls(t *testing.T, db *sql.DB) {
	noLock := round{db: db, name: "no-lock", take: func(ctx context.Context, tx *sql.Tx, n int) (taken int64, err error) {
		err = tx.QueryRowContext(ctx, "SELECT taken FROM randflake_gapless WHERE name = 'no-lock'").Scan(&taken)
		if err == nil {
			_, err = tx.ExecContext(ctx, fmt.Sprintf("UPDATE randflake_gapless SET taken = %d WHERE name = 'no-lock'", taken+int64(n)))
		}
		return taken + 1, err
	}}
	apart := round{db: db, name: "apart", take: func(ctx context.Context, _ *sql.Tx, n int) (first int64, err error) {
		err = d.within(ctx, db, func(tx gapless.Tx) error { first, err = tx.NextN(ctx, "apart", n); return err })
		return first, err
	}}
	for _, r := range []*round{&noLock, &apart} {
		err := check(d.run(t, r, 60))
		if err == nil {
			t.Errorf("%s: nothing is found", r.name)
		}
		t.Logf("%s: %v", r.name, err)
	}
}
