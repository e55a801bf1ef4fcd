package gapless_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/randflake/randflake/counter/gapless"
	"github.com/randflake/randflake/internal/test/require"
)

// An invoice and its number, or neither.
func Example() {
	write := func(ctx context.Context, db *sql.DB, customer string) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		n, err := gapless.Postgres(tx).Next(ctx, "invoices/2026")
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (number, customer) VALUES ($1, $2)", n, customer); err != nil {
			return err
		}
		return tx.Commit()
	}
	_ = write
}

// TestInvalid: what is wrong is refused before anything is sent. The rest is tested on servers, in
// lab/gapless.
func TestInvalid(t *testing.T) {
	var tx gapless.Tx
	for _, name := range []string{"", "A", "-a", "a/", "a'b", `a\`, "a b", "ä", "a\n", strings.Repeat("a", 51)} {
		require.Refuses(t, gapless.ErrInvalid, "Next(%q)", name)(tx.Next(t.Context(), name))
		require.ErrorIs(t, tx.Create(t.Context(), name, 1, 2), gapless.ErrInvalid, "Create(%q)", name)
		require.Refuses(t, gapless.ErrInvalid, "NextOrCreate(%q)", name)(tx.NextOrCreate(t.Context(), name, 1, 2))
		require.Refuses(t, gapless.ErrInvalid, "Peek(%q)", name)(tx.Peek(t.Context(), name))
	}
	var listed []error
	for _, err := range tx.List(t.Context(), "a'") {
		listed = append(listed, err)
	}
	require.That(t, len(listed) == 1 && errors.Is(listed[0], gapless.ErrInvalid),
		"List: %v, want ErrInvalid", listed)
	for _, limits := range [][2]int64{{-1, 5}, {5, 4}, {math.MinInt64, math.MaxInt64}} {
		require.ErrorIs(t, tx.Create(t.Context(), "a", limits[0], limits[1]), gapless.ErrInvalid, "Create(%d)", limits)
	}
	for _, n := range []int{0, -1, math.MinInt} {
		require.Refuses(t, gapless.ErrInvalid, "NextN(%d)", n)(tx.NextN(t.Context(), "a", n))
	}
}
