// Package keys measures what kinds of primary keys cost in PostgreSQL and in MariaDB: how fast rows go in, how much
// room they take, and how many pages a look-up reads. docs/databases.md shows the results.
package keys

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/snowflake"
)

// A kind is one way to choose a table's primary key.
type kind struct {
	name, table string
	uuid        bool // a key is a [16]byte, and otherwise an int64
	indexed     bool // there is an ID beside the key, with an index of its own

	// keys returns n new keys, and the IDs beside them or nil. The database makes the keys where it is nil.
	keys func(n int) (keys, beside []any, err error)
}

// A row has about 45 bytes beside its key.
type row struct {
	key, beside any
	customer    int64
	created     time.Time
	cents       int64
	item        string
}

var items = []string{"green tea, 100 g", "oolong, loose, 250 g", "teapot of cast iron", "two cups, blue, with saucers"}

// rows returns n new rows of a kind; the first will be number first in its table.
func (k kind) rows(first, n int) ([]row, error) {
	var keys, beside []any
	var err error
	if k.keys != nil {
		if keys, beside, err = k.keys(n); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
	}
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{key: int64(first + i + 1), customer: rand.Int64N(1e6), created: time.Now().UTC().Truncate(time.Microsecond),
			cents: rand.Int64N(1e5), item: items[rand.IntN(len(items))]}
		if keys != nil {
			rows[i].key = keys[i]
		}
		if beside != nil {
			rows[i].beside = beside[i]
		}
	}
	return rows, nil
}

// kinds returns all kinds, the one that the others are compared with first. The generators run by the real clock.
func kinds(ctx context.Context) ([]kind, error) {
	now := time.Now().Truncate(time.Second)
	lease := randflake.Lease{FirstNode: 0, LastNode: 63, Start: now.Add(-time.Minute), End: now.Add(12 * time.Hour)}
	generator, err := randflake.New(randflake.NewSecret(), lease)
	if err != nil {
		return nil, err
	}
	flakes, err := snowflake.New(snowflake.Twitter(), snowflake.Forever(7))
	if err != nil {
		return nil, err
	}
	ids := func(n int) ([]randflake.ID, error) {
		ids := make([]randflake.ID, n)
		_, err := generator.FillWait(ctx, ids)
		return ids, err
	}
	raws := func(ids []randflake.ID) []any {
		raws := make([]randflake.Raw, len(ids))
		generator.Cipher().DecryptSlice(raws, ids)
		return integers(raws)
	}
	return []kind{
		{name: "sequence of the database", table: "k_sequence"},
		{name: "snowflake", table: "k_snowflake", keys: func(n int) ([]any, []any, error) {
			ids := make([]snowflake.ID, n)
			_, err := flakes.FillWait(ctx, ids)
			return integers(ids), nil, err
		}},
		{name: "`Raw`", table: "k_raw", keys: func(n int) ([]any, []any, error) {
			ids, err := ids(n)
			return raws(ids), nil, err
		}},
		{name: "randflake ID", table: "k_randflake", keys: func(n int) ([]any, []any, error) {
			ids, err := ids(n)
			return integers(ids), nil, err
		}},
		{name: "`Raw`, and a unique index of IDs", table: "k_beside", indexed: true, keys: func(n int) ([]any, []any, error) {
			ids, err := ids(n)
			return raws(ids), integers(ids), err
		}},
		{name: "UUID version 7", table: "k_uuid7", uuid: true, keys: uuids(uuid.NewV7)},
		{name: "UUID version 4", table: "k_uuid4", uuid: true, keys: uuids(uuid.NewRandom)},
	}, nil
}

func uuids(next func() (uuid.UUID, error)) func(int) ([]any, []any, error) {
	return func(n int) ([]any, []any, error) {
		keys := make([]any, n)
		for i := range keys {
			key, err := next()
			if err != nil {
				return nil, nil, err
			}
			keys[i] = [16]byte(key)
		}
		return keys, nil, nil
	}
}

// integers returns IDs as the signed integers of 64 bits that columns hold.
func integers[T ~int64 | ~uint64](ids []T) []any {
	all := make([]any, len(ids))
	for i, id := range ids {
		all[i] = int64(id)
	}
	return all
}
