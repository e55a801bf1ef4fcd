// Package gapless makes numbers without gaps, as invoices need them. It takes them within the caller's own transaction
// in PostgreSQL, MySQL or MariaDB: a number is used if and only if that transaction commits.
//
//	n, err := gapless.Postgres(tx).Next(ctx, "invoices/2026", 1, 999_999) // tx is an *sql.Tx
//	_, err = tx.ExecContext(ctx, "INSERT INTO invoices (number, customer) VALUES ($1, $2)", n, customer)
//	err = tx.Commit()
//
// [Pgx] is for transactions of pgx, and [MySQL] for MySQL and MariaDB. Number, a method of Format in package numbers, makes
// INV-2026-000042 of it. Create the table in a migration, with [PostgresSchema] or [MySQLSchema]. A counter is a row of it, in the
// same database as the invoices, so a backup restores both together. [Tx.Peek] and [Tx.List] show how far counters are.
//
// The price is that taking a number locks its counter until the transaction ends. So transactions on one counter run
// one after the other, including the flush of each commit. Take the number as late as you can, and don't wait for a
// user or a service in a transaction that has taken one. Take numbers of several counters in the same order everywhere,
// or two transactions may deadlock and the server ends one of them. If a transaction is rolled back, or lost with its
// connection, the next one gets its number.
//
// Make the column of the numbers UNIQUE. In MySQL and MariaDB a deadlock ends the transaction. If the program ignores that error of
// its own statement, the next statements are committed one by one, and the next transaction gets the same number.
//
// With binlog_format=STATEMENT, MySQL and MariaDB refuse writes under READ COMMITTED with error 1665: set MIXED or ROW.
//
// If a transaction fails with a deadlock or a serialization error, run it again as a whole. Serialization errors happen
// under REPEATABLE READ and SERIALIZABLE to the second of two concurrent transactions, in PostgreSQL (SQLSTATE 40001)
// and in MariaDB (error 1020) with innodb_snapshot_isolation, which is on by default from 11.6.2. READ COMMITTED avoids
// them.
//
// There are two cases in which numbers repeat. Two primaries that replicate to each other asynchronously take the same
// numbers. After a failover that loses commits, the numbers of the lost invoices are taken again.
package gapless

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with [errors.Is]. They don't change
// the transaction, so it can continue, except for ErrNoTransaction.
var (
	// ErrEnd says that all numbers of a counter are taken.
	ErrEnd = errors.New("gapless: counter is at its end")

	// ErrNoCounter says that there is no counter with that name yet: Next creates it.
	ErrNoCounter = errors.New("gapless: no such counter")

	// ErrNoTransaction says that the server has no transaction, although the driver has one. The server ended it
	// because of a deadlock, or because of a statement such as CREATE TABLE, and later statements are committed
	// already. Only MariaDB can report this; in MySQL a rollback would then leave a gap.
	ErrNoTransaction = errors.New("gapless: not within a transaction")

	// ErrInvalidName says that a name is invalid. A valid one has 1 to 50 characters of a-z, 0-9, / - _ and ., and
	// begins and ends with a letter or digit.
	ErrInvalidName = errors.New("gapless: invalid name")

	// ErrInvalidRange says that a range of numbers is empty, or begins below zero.
	ErrInvalidRange = errors.New("gapless: invalid range")
)

// A Tx takes numbers within a transaction; see [Postgres], [Pgx] and [MySQL]. It is safe for concurrent use if that
// transaction is.
type Tx struct{ in transaction }

// A transaction runs the SQL of one kind of server.
type transaction interface {
	// next does what Tx.Next does. Its error at the end of the counter is atEnd.
	next(ctx context.Context, name string, first, last int64) (int64, error)

	// list returns the first limit counters whose names begin with prefix and come after the name after.
	list(ctx context.Context, prefix, after string, limit int) ([]counter, error)
}

// Next takes the next number of a counter. If there is no such counter it creates one of the numbers from first to last, with
// 0 <= first <= last, and takes first; use math.MaxInt64 for a counter without an end. An existing counter stays as it is, so it may
// have another end than last.
//
// If many transactions create a counter at the same moment, they wait for each other, without a deadlock: each gets a number, also if
// those before it roll back. PostgreSQL needs one round trip; MySQL and MariaDB need two, and four where the counter is created, and
// run transactions that create counters one after the other.
func (tx Tx) Next(ctx context.Context, name string, first, last int64) (int64, error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if first < 0 || last < first {
		return 0, fmt.Errorf("%w: next of %q: %d to %d: want 0 <= first <= last", ErrInvalidRange, name, first, last)
	}
	n, err := tx.in.next(ctx, name, first, last)
	if err != nil {
		return 0, fmt.Errorf("gapless: next of %q: %w", name, err)
	}
	return n, nil
}

func atEnd(last int64) error { return fmt.Errorf("%w: the last number is %d", ErrEnd, last) }

// validName matches names that need no escaping within quotes in SQL.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]{0,48}[a-z0-9])?$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: %.60q: want 1 to 50 of a-z 0-9 / - _ . with a letter or digit first and last", ErrInvalidName, name)
	}
	return nil
}
