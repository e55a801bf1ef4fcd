package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"regexp"
)

// The errors of this package. Errors with more detail wrap one of these, so compare with
// [errors.Is]. After them the transaction can continue, except after ErrNoTransaction.
var (
	// ErrNoCounter says that there is no counter of that name: create it with [Tx.Create], or use
	// [Tx.NextOrCreate].
	ErrNoCounter = errors.New("gapless: no such counter")

	// ErrEnded says that fewer numbers are left than were requested. The call took no number.
	ErrEnded = errors.New("gapless: counter is at its end")

	// ErrNoTransaction says that the server has no transaction, although the driver has one. The
	// server ended the transaction because of a deadlock, or because of a statement such as CREATE
	// TABLE, and has committed later statements already. Only MariaDB can report this; in MySQL a
	// rollback would then leave a gap.
	ErrNoTransaction = errors.New("gapless: not within a transaction")

	// ErrInvalid says that an argument can't be right: a name that has other than 1 to 50 characters of
	// a-z, 0-9, "/", "-", "_" and ".", or a range of numbers that is empty or begins below zero.
	ErrInvalid = errors.New("gapless: invalid")
)

// A Tx takes numbers within a transaction; see [Postgres], [Pgx] and [MySQL]. It is safe for
// concurrent use if that transaction is.
type Tx struct{ in transaction }

// A transaction runs the SQL of one kind of server.
type transaction interface {
	// create creates a counter, and reports whether there was none before.
	create(ctx context.Context, name string, taken, last int64) (made bool, err error)

	// take takes n numbers, and returns the last of them in taken. If fewer than n are left, take
	// takes none and returns the counter's last number in last. If there is no such counter, both
	// are NULL.
	take(ctx context.Context, name string, n int64) (taken, last sql.NullInt64, err error)

	// takeOrCreate takes one number, as take does. If there is no such counter, takeOrCreate
	// creates it and takes its first number.
	takeOrCreate(ctx context.Context, name string, start, last int64) (taken, end sql.NullInt64, err error)

	// list returns the first limit counters whose names begin with prefix and come after the name
	// after.
	list(ctx context.Context, prefix, after string, limit int) ([]row, error)
}

// Create creates a counter of the numbers from start to last, with 0 <= start <= last. Use
// math.MaxInt64 for a counter without an end. The counter exists once the transaction commits. If
// it exists already, Create changes nothing and the error wraps fs.ErrExist. If another transaction
// is creating the same counter, Create waits for that transaction. For a counter that begins when
// its first number is needed, as in a new year, see [Tx.NextOrCreate].
func (tx Tx) Create(ctx context.Context, name string, start, last int64) error {
	if err := checkRange(name, start, last); err != nil {
		return err
	}
	made, err := tx.in.create(ctx, name, start-1, last)
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

// NextOrCreate is Next, but if there is no such counter, NextOrCreate creates it as Create does and
// takes start. An existing counter stays as it is, so it may have another end than last.
//
// If many transactions create the counter at the same moment, they wait for each other, without a
// deadlock. Each gets a number, even if those before it roll back. PostgreSQL needs one round trip.
// MySQL and MariaDB need two, and four to create the counter; there transactions that create
// counters run one after the other.
func (tx Tx) NextOrCreate(ctx context.Context, name string, start, last int64) (int64, error) {
	if err := checkRange(name, start, last); err != nil {
		return 0, err
	}
	taken, end, err := tx.in.takeOrCreate(ctx, name, start, last)
	switch {
	case err != nil:
		return 0, fmt.Errorf("gapless: take 1 from %q: %w", name, err)
	case !taken.Valid:
		return 0, fmt.Errorf("%w: take 1 from %q: the last number is %d", ErrEnded, name, end.Int64)
	}
	return taken.Int64, nil
}

// NextN takes n consecutive numbers, in one round trip, and returns the first of them. If it can't
// take all n, it takes none and returns an error.
func (tx Tx) NextN(ctx context.Context, name string, n int) (first int64, err error) {
	if err := checkName(name); err != nil {
		return 0, err
	}
	if n < 1 {
		return 0, fmt.Errorf("%w: take from %q: %d numbers: want at least 1", ErrInvalid, name, n)
	}
	taken, last, err := tx.in.take(ctx, name, int64(n))
	switch {
	case err != nil:
		return 0, fmt.Errorf("gapless: take %d from %q: %w", n, name, err)
	case taken.Valid:
		return taken.Int64 - int64(n) + 1, nil
	case last.Valid:
		return 0, fmt.Errorf("%w: take %d from %q: the last number is %d", ErrEnded, n, name, last.Int64)
	}
	return 0, fmt.Errorf("%w: %q: "+
		"create it first, with Tx.Create, or take its numbers with Tx.NextOrCreate",
		ErrNoCounter, name)
}

// An Info is what a transaction sees of a counter. Others may take numbers meanwhile.
type Info struct {
	Name string
	Next int64  // the next number, or 0 if none is left
	Last int64  // the largest possible number
	Left uint64 // how many numbers are left
}

// A row is a row of the table of counters.
type row struct {
	Name  string
	Taken int64 // the newest number that was given, or the one before the first
	Last  int64
}

func (r row) info() Info {
	i := Info{Name: r.Name, Last: r.Last, Left: uint64(r.Last) - uint64(r.Taken)}
	if i.Left > 0 {
		i.Next = r.Taken + 1
	}
	return i
}

// Peek returns the state of a counter without locking it or taking a number.
func (tx Tx) Peek(ctx context.Context, name string) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	r, exists, err := find(ctx, tx.in, name)
	switch {
	case err != nil:
		return Info{}, fmt.Errorf("gapless: peek at %q: %w", name, err)
	case !exists:
		return Info{}, fmt.Errorf("%w: %q", ErrNoCounter, name)
	}
	return r.info(), nil
}

// find returns the counter of that name, if it exists. It locks nothing.
func find(ctx context.Context, in transaction, name string) (found row, exists bool, err error) {
	page, err := in.list(ctx, name, "", 1) // names that begin with this one come after it
	if err != nil || len(page) == 0 || page[0].Name != name {
		return row{}, false, err
	}
	return page[0], true, nil
}

// List returns all counters whose names begin with prefix, sorted by name. It reads pages of a
// thousand, and locks nothing.
func (tx Tx) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if !validPrefix.MatchString(prefix) {
			yield(Info{}, fmt.Errorf("%w: prefix %.60q: want up to 50 characters of / - _ . a-z and 0-9",
				ErrInvalid, prefix))
			return
		}
		after := ""
		for full := true; full; {
			page, err := tx.in.list(ctx, prefix, after, pageSize)
			if err != nil {
				yield(Info{}, fmt.Errorf("gapless: list %q: %w", prefix, err))
				return
			}
			for _, r := range page {
				after = r.Name
				if !yield(r.info(), nil) {
					return
				}
			}
			full = len(page) == pageSize
		}
	}
}

const pageSize = 1000

// validName matches names that need no escaping within quotes in SQL.
var validName = regexp.MustCompile(`^[a-z0-9]([a-z0-9/_.-]{0,48}[a-z0-9])?$`)

var validPrefix = regexp.MustCompile(`^[a-z0-9/_.-]{0,50}$`)

func checkRange(name string, start, last int64) error {
	if err := checkName(name); err != nil {
		return err
	}
	if start < 0 || last < start {
		return fmt.Errorf("%w: create %q: %d to %d: want 0 <= start <= last",
			ErrInvalid, name, start, last)
	}
	return nil
}

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%w: %.60q: "+
			"want 1 to 50 of a-z 0-9 / - _ . with a letter or digit first and last",
			ErrInvalid, name)
	}
	return nil
}
