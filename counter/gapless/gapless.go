// Package gapless gives numbers without gaps, such as invoices need, within the caller's own transaction in PostgreSQL,
// MySQL or MariaDB: a number is given exactly if that transaction commits.
//
//	n, err := gapless.Postgres(tx).Next(ctx, "invoices/2026") // tx is an *sql.Tx
//	_, err = tx.ExecContext(ctx, "INSERT INTO invoices (number, customer) VALUES ($1, $2)", n, customer)
//	err = tx.Commit()
//
// [Pgx] does it for a transaction of pgx, and [MySQL] for those servers. A counter is a row in the database where the
// invoices are, so both are restored together. A migration makes the table, with [PostgresSchema] or [MySQLSchema].
//
// The price: a number that was taken locks its counter until the transaction ends. So transactions on one counter run one
// after the other, also through the flush of their commits. Take the number as late as you can, let no transaction that
// has one wait for a user or a service, and take those of several counters in the same order everywhere, or the server
// will end one of two for a deadlock. What is rolled back, or lost with its connection, gives its number to the next.
//
// A transaction that fails with a deadlock or because of its isolation is to be run again as a whole. The latter happens
// under REPEATABLE READ and SERIALIZABLE to the second of two that run at once, in PostgreSQL (SQLSTATE 40001) and where
// MariaDB has innodb_snapshot_isolation, its default from 11.6.2 on (error 1020). READ COMMITTED spares that.
//
// Two primaries that replicate to each other without waiting give the same numbers, and a failover that loses commits
// gives those numbers again, with the invoices that it lost.
package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
)

// The errors of this package. Those that carry more detail wrap one of these, so compare with errors.Is. They leave the
// transaction as it was, so that it can go on.
var (
	// ErrNoCounter says that there is no counter of that name: Tx.Create makes it.
	ErrNoCounter = errors.New("gapless: no such counter")

	// ErrEnd says that fewer numbers are left than were asked for. None was taken.
	ErrEnd = errors.New("gapless: counter is at its end")

	// ErrNoTransaction says that the server knows of no transaction, though the driver does: it ended it for a deadlock, or
	// because of a statement such as CREATE TABLE, and what came after that is committed already. Only MariaDB tells; in
	// MySQL a rollback would then leave a gap.
	ErrNoTransaction = errors.New("gapless: not within a transaction")

	// ErrInvalidName says that a name isn't 1 to 50 characters of a-z, 0-9, / - _ and ., a letter or digit first and last.
	ErrInvalidName = errors.New("gapless: invalid name")

	// ErrInvalidRange says that a range of numbers is empty, or begins below zero.
	ErrInvalidRange = errors.New("gapless: invalid range")
)

// A Tx takes numbers within a transaction; see [Postgres], [Pgx] and [MySQL]. It is as safe for concurrent use as that
// transaction is.
type Tx struct{ in transaction }

// A transaction knows the SQL.
type transaction interface {
	// create reports whether there was no such counter.
	create(ctx context.Context, name string, taken, last int64) (made bool, err error)

	// take takes n numbers and returns the last of them. Where there are not as many it takes none, and returns the last
	// number of the counter, if there is one.
	take(ctx context.Context, name string, n int64) (taken, last sql.NullInt64, err error)
}

// Create makes a counter of the numbers from first to last: 0 <= first <= last, and math.MaxInt64 where there is to be no
// end. It becomes one when the transaction commits. Where there is one it changes nothing, and the error wraps fs.ErrExist;
// it waits for a transaction that creates the same one. In MySQL and MariaDB create counters ahead of their use: of two
// transactions that found none and create it, the server ends one for a deadlock.
func (tx Tx) Create(ctx context.Context, name string, first, last int64) error {
	if err := checkName(name); err != nil {
		return err
	}
	if first < 0 || last < first {
		return fmt.Errorf("%w: create %q: %d to %d: want 0 <= first <= last", ErrInvalidRange, name, first, last)
	}
	made, err := tx.in.create(ctx, name, first-1, last)
	if err == nil && !made {
		err = fmt.Errorf("%w: a counter is never replaced", fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("gapless: create %q: %w", name, err)
	}
	return nil
}

// Next takes the next number of a counter, in one round trip.
func (tx Tx) Next(ctx context.Context, name string) (int64, error) { return tx.NextN(ctx, name, 1) }

// NextN takes n numbers in a row, in one round trip, and returns the first of them: all n, or none and an error.
func (tx Tx) NextN(ctx context.Context, name string, n int) (first int64, err error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if n < 1 {
		return 0, fmt.Errorf("%w: take from %q: %d numbers: want at least 1", ErrInvalidRange, name, n)
	}
	taken, last, err := tx.in.take(ctx, name, int64(n))
	switch {
	case err != nil:
		return 0, fmt.Errorf("gapless: take %d from %q: %w", n, name, err)
	case taken.Valid:
		return taken.Int64 - int64(n) + 1, nil
	case last.Valid:
		return 0, fmt.Errorf("%w: take %d from %q: the last number is %d", ErrEnd, n, name, last.Int64)
	}
	return 0, fmt.Errorf("%w: %q: create it first, with Tx.Create", ErrNoCounter, name)
}

// validName needs no more than quotes in SQL.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]{0,48}[a-z0-9])?$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: %.60q: want 1 to 50 of a-z 0-9 / - _ . with a letter or digit first and last", ErrInvalidName, name)
	}
	return nil
}
