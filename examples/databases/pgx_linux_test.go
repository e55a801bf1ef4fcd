package databases

import (
	"context"
	"slices"
	"testing"

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

func TestPGX(t *testing.T) {
	ctx, conn := t.Context(), connectPostgres(t)
	_, err := conn.Exec(ctx, "CREATE TABLE items (id bigint PRIMARY KEY, name text NOT NULL)")
	must(t, err)
	items := []Item{{Name: "tea"}, {Name: "two cups"}, {Name: "a pot"}}
	must(t, copyItems(ctx, conn, items))
	got, err := itemsByID(ctx, conn, []randflake.ID{items[0].ID, items[2].ID, items[0].ID ^ 1})
	slices.SortFunc(got, func(a, b Item) int { return slices.Index(items, a) - slices.Index(items, b) })
	if want := []Item{items[0], items[2]}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	// COPY takes typed IDs too.
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"items"}, []string{"id", "name"}, pgx.CopyFromRows([][]any{{TicketID(-7), "typed"}}))
	must(t, err)
	var ticket Ticket
	if err := conn.QueryRow(ctx, "SELECT id, name FROM items WHERE id = $1", TicketID(-7)).Scan(&ticket.ID, &ticket.Title); err != nil || ticket != (Ticket{-7, "typed"}) {
		t.Errorf("by COPY: %v, %v", ticket, err)
	}
}

// TestPGXArrays: arrays of numbers and of texts, both ways, in all of pgx's modes.
func TestPGXArrays(t *testing.T) {
	conn := connectPostgres(t)
	registerIDs(conn)
	texts, typed := make([]randflake.TextID, len(ids)), make([]TicketID, len(ids))
	for i, id := range ids {
		texts[i], typed[i] = randflake.TextID(id), TicketID(id)
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		var gotIDs []randflake.ID
		var gotTexts []randflake.TextID
		var some []*randflake.ID
		err := conn.QueryRow(t.Context(), "SELECT $1::bigint[], $2::text[], ARRAY[NULL, 5]::bigint[]", mode, ids, texts).Scan(&gotIDs, &gotTexts, &some)
		if err != nil || !slices.Equal(gotIDs, ids) || !slices.Equal(gotTexts, texts) || len(some) != 2 || some[0] != nil || *some[1] != 5 {
			t.Errorf("%v: %v, %v, %v: %v", mode, gotIDs, gotTexts, some, err)
		}
		var gotTyped []TicketID
		if err := conn.QueryRow(t.Context(), "SELECT $1::bigint[]", mode, typed).Scan(&gotTyped); err != nil || !slices.Equal(gotTyped, typed) {
			t.Errorf("%v: typed %v: %v", mode, gotTyped, err)
		}
	}
}
