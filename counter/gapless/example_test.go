package gapless_test

import (
	"context"
	"database/sql"

	"github.com/randflake/randflake/counter/gapless"
)

// An invoice and its number, or neither.
func Example() {
	write := func(ctx context.Context, db *sql.DB, customer string) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		n, err := gapless.Postgres(tx).Next(ctx, "invoices/2026", 1, 999_999)
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
