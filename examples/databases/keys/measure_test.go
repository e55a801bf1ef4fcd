package keys

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A database is one that tables with all kinds of keys are made in.
type database interface {
	name() string
	create(ctx context.Context, k kind) error
	insert(ctx context.Context, k kind, rows []row) error // in one transaction; sets the keys that the database makes
	insertOne(ctx context.Context, k kind, r row) error
	cents(ctx context.Context, k kind, key any) (int64, error)
	total(ctx context.Context, k kind) (rows, cents int64, err error)
	size(ctx context.Context, k kind) (size, error)
	work(ctx context.Context, k kind) (work, error)
}

// A size is in bytes.
type size struct{ table, indexes int64 }

// A work is what a server did since it started.
type work struct{ logged, read int64 }

func (w work) since(before work) work { return work{w.logged - before.logged, w.read - before.read} }

// insertStatement returns an INSERT of one row.
func insertStatement(table string, names []string, parameter func(i int) string) string {
	parameters := make([]string, len(names))
	for i := range parameters {
		parameters[i] = parameter(i)
	}
	return "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(parameters, ", ") + ")"
}

// A turn is what one kind did when it was its turn: so many operations, in that time, with that work.
type turn struct {
	n    int
	took time.Duration
	work work
}

// A series is the turns of one kind. Turn i of all kinds lies between the same two moments.
type series []turn

// A table is one kind's, with what is known of it.
type table struct {
	kind
	inserts, singles, recent, uniform series
	rows                              int
	cents                             int64
	size                              size
	newest, sample                    []row // the last 10,000 of the newest slice, and one in a hundred of all
}

// A plan says how much is done.
type plan struct {
	rows, slice, batch int // in each table, of one kind in turn, in one transaction
	singles, lookups   int // for each kind
	turns              int // in which those are done
	budget             time.Duration
	report             func(format string, args ...any)
}

// measure fills a table of each kind, in slices whose order is another one each round, so that whatever else the
// machine does hits all kinds alike. It stops after the round in which the budget for inserts is used up.
func measure(ctx context.Context, db database, kinds []kind, p plan) ([]*table, error) {
	tables := make([]*table, len(kinds))
	for i, k := range kinds {
		tables[i] = &table{kind: k}
		if err := db.create(ctx, k); err != nil {
			return nil, fmt.Errorf("create %s: %w", k.table, err)
		}
	}
	for start := time.Now(); tables[0].rows < p.rows && time.Since(start) < p.budget; {
		n := min(p.slice, p.rows-tables[0].rows)
		err := inTurn(tables, func(t *table) error { return t.insert(ctx, db, n, p.batch) })
		if err != nil {
			return nil, err
		}
		p.report("%s: %d rows in each table after %v: %s", db.name(), tables[0].rows, time.Since(start).Round(time.Second), lastRates(tables))
	}
	for _, t := range tables {
		var err error
		if t.size, err = db.size(ctx, t.kind); err != nil {
			return nil, fmt.Errorf("size of %s: %w", t.table, err)
		}
	}
	return tables, measureOnes(ctx, db, tables, p)
}

// measureOnes looks rows up and inserts rows one by one.
func measureOnes(ctx context.Context, db database, tables []*table, p plan) error {
	for range p.turns {
		for _, step := range []func(t *table) error{
			func(t *table) error { return t.lookUp(ctx, db, &t.recent, t.newest, p.lookups/p.turns) },
			func(t *table) error { return t.lookUp(ctx, db, &t.uniform, t.sample, p.lookups/p.turns) },
			func(t *table) error { return t.insertOneByOne(ctx, db, p.singles/p.turns) },
		} {
			if err := inTurn(tables, step); err != nil {
				return err
			}
		}
	}
	return nil
}

func inTurn(tables []*table, do func(t *table) error) error {
	for _, i := range rand.Perm(len(tables)) {
		if err := do(tables[i]); err != nil {
			return fmt.Errorf("%s: %w", tables[i].table, err)
		}
	}
	return nil
}

// insert adds a slice of n rows. Making them is not in the time.
func (t *table) insert(ctx context.Context, db database, n, batch int) error {
	rows, err := t.kind.rows(t.rows, n)
	if err != nil {
		return err
	}
	err = t.time(ctx, db, &t.inserts, n, func() error {
		for from := 0; from < n; from += batch {
			if err := db.insert(ctx, t.kind, rows[from:min(from+batch, n)]); err != nil {
				return err
			}
		}
		return nil
	})
	t.count(rows)
	t.newest = slices.Clone(rows[max(0, n-10_000):])
	for i := 0; i < n; i += 100 {
		t.sample = append(t.sample, rows[i])
	}
	return err
}

func (t *table) count(rows []row) {
	t.rows += len(rows)
	for _, r := range rows {
		t.cents += r.cents
	}
}

func (t *table) insertOneByOne(ctx context.Context, db database, n int) error {
	rows, err := t.kind.rows(t.rows, n)
	if err != nil {
		return err
	}
	t.count(rows)
	return t.time(ctx, db, &t.singles, n, func() error {
		for _, r := range rows {
			if err := db.insertOne(ctx, t.kind, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// lookUp reads n of some rows by their keys.
func (t *table) lookUp(ctx context.Context, db database, into *series, rows []row, n int) error {
	return t.time(ctx, db, into, n, func() error {
		for range n {
			want := rows[rand.IntN(len(rows))]
			if cents, err := db.cents(ctx, t.kind, want.key); err != nil || cents != want.cents {
				return fmt.Errorf("key %v: %d cents, error %w, want %d", want.key, cents, err, want.cents)
			}
		}
		return nil
	})
}

// time adds a turn to a series.
func (t *table) time(ctx context.Context, db database, into *series, n int, do func() error) error {
	before, err := db.work(ctx, t.kind)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := do(); err != nil {
		return err
	}
	took := time.Since(start)
	after, err := db.work(ctx, t.kind)
	*into = append(*into, turn{n, took, after.since(before)})
	return err
}
