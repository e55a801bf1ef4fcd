package databases

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
)

// An Item is a row.
type Item struct {
	ID   randflake.ID
	Name string
}

// copyItems adds items, which get new IDs.
func copyItems(ctx context.Context, conn *pgx.Conn, items []Item) error {
	for i := range items {
		var err error
		if items[i].ID, err = generator.Wait(ctx); err != nil {
			return err
		}
	}
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"items"}, []string{"id", "name"},
		pgx.CopyFromSlice(len(items), func(i int) ([]any, error) { return []any{items[i].ID, items[i].Name}, nil }))
	return err
}

// itemsByID reads many rows by one statement.
func itemsByID(ctx context.Context, conn *pgx.Conn, ids []randflake.ID) ([]Item, error) {
	rows, err := conn.Query(ctx, "SELECT id, name FROM items WHERE id = ANY($1)", ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[Item])
}

// registerIDs tells pgx what arrays of IDs are where it does not ask the server, as behind some poolers.
func registerIDs(conn *pgx.Conn) {
	conn.TypeMap().RegisterDefaultPgType([]randflake.ID(nil), "_int8")
	conn.TypeMap().RegisterDefaultPgType([]TicketID(nil), "_int8")
	conn.TypeMap().RegisterDefaultPgType([]randflake.TextID(nil), "_text")
}

// useSecret gives a secret to a session of PostgreSQL.
func useSecret(ctx context.Context, conn *pgx.Conn, secret randflake.Secret) error {
	_, err := conn.Exec(ctx, "CREATE TEMP TABLE given (secret text)")
	if err == nil {
		_, err = conn.CopyFrom(ctx, pgx.Identifier{"given"}, []string{"secret"}, pgx.CopyFromRows([][]any{{secret.Hex()}}))
	}
	if err == nil {
		_, err = conn.Exec(ctx, "SELECT randflake_use(secret) FROM given; DROP TABLE given")
	}
	return err
}
