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

	"github.com/randflake/randflake/segments/gapless"
	"github.com/randflake/randflake/store/storetest/servers"
)

// workers is how many transactions there are at once.
const workers = 20

// A round is many transactions at once, which write invoices with the numbers that they take; a third is rolled back.
type round struct {
	db      *sql.DB
	counter string
	take    func(ctx context.Context, tx *sql.Tx, n int) (first int64, err error)
	fault   func(attempt int64) bool // called with the numbers taken; whether it made the transaction fail

	attempts, committed, rolledBack, lost atomic.Int64
	failed                                atomic.Value // the newest error
}

// run goes on until so many transactions are committed.
func (r *round) run(t *testing.T, want int64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for r.committed.Load() < want && ctx.Err() == nil {
				if err := r.transact(ctx); err != nil {
					r.failed.Store(err.Error())
					time.Sleep(5 * time.Millisecond) // the server may be down
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%d of %d transactions in a minute; %v", r.committed.Load(), want, r.failed.Load())
	}
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
		if _, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO invoices VALUES ('%s', %d)", r.counter, first+int64(i))); err != nil {
			break
		}
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

// faults: connections break and the server crashes while numbers are taken, and a reply to a commit is lost.
func (d Database) faults(t *testing.T, db *sql.DB, proxy *servers.Proxy) {
	const counter = "invoices/2026"
	d.within(t, db, func(tx gapless.Tx) { must(t, tx.Create(t.Context(), counter, 1, math.MaxInt64)) })
	r := round{db: db, counter: counter, take: func(ctx context.Context, tx *sql.Tx, n int) (int64, error) { return d.In(tx).NextN(ctx, counter, n) }}
	r.fault = func(attempt int64) bool {
		switch attempt {
		case 40, 80, 120:
			proxy.Cut()
		case 160:
			if err := cmp.Or(d.Server.Kill(), d.Server.Start()); err != nil {
				t.Error(err)
			}
		case 200:
			proxy.LoseReply(d.Commit) // that of this transaction: others wait for it
		default:
			return false
		}
		return true
	}
	r.run(t, 200)
	numbers := committed(t, db, counter)
	if err := check(numbers); err != nil {
		t.Error(err)
	}
	if r.rolledBack.Load() == 0 || r.lost.Load() < 5 || !proxy.Lost() {
		t.Errorf("%d rolled back, %d lost, reply to a commit lost: %v: the test shows nothing", r.rolledBack.Load(), r.lost.Load(), proxy.Lost())
	}
	d.within(t, db, func(tx gapless.Tx) {
		if next, err := tx.Next(t.Context(), counter); next != int64(len(numbers))+1 || err != nil {
			t.Errorf("the next is %d, %v; want %d", next, err, len(numbers)+1)
		}
	})
	t.Logf("%d numbers, %d transactions committed, %d rolled back, %d lost", len(numbers), r.committed.Load(), r.rolledBack.Load(), r.lost.Load())
}

// controls: what does it wrong is found out.
func (d Database) controls(t *testing.T, db *sql.DB) {
	for counter, take := range map[string]func(ctx context.Context, tx *sql.Tx, n int) (int64, error){
		"no-lock": func(ctx context.Context, tx *sql.Tx, n int) (taken int64, err error) {
			err = tx.QueryRowContext(ctx, "SELECT taken FROM randflake_gapless WHERE name = 'no-lock'").Scan(&taken)
			if err == nil {
				_, err = tx.ExecContext(ctx, fmt.Sprintf("UPDATE randflake_gapless SET taken = %d WHERE name = 'no-lock'", taken+int64(n)))
			}
			return taken + 1, err
		},
		"transaction-of-its-own": func(ctx context.Context, _ *sql.Tx, n int) (first int64, err error) {
			own, err := db.BeginTx(ctx, nil)
			if err != nil {
				return 0, err
			}
			defer own.Rollback()
			if first, err = d.In(own).NextN(ctx, "transaction-of-its-own", n); err != nil {
				return 0, err
			}
			return first, own.Commit()
		},
	} {
		d.within(t, db, func(tx gapless.Tx) { must(t, tx.Create(t.Context(), counter, 1, math.MaxInt64)) })
		r := round{db: db, counter: counter, take: take}
		r.run(t, 60)
		err := check(committed(t, db, counter))
		if err == nil {
			t.Errorf("%s: nothing is found", counter)
		}
		t.Logf("%s: %v", counter, err)
	}
}
