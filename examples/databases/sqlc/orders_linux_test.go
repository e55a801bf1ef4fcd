// Package sqlc tests that what sqlc generates from sqlc.yaml takes and returns IDs. "sqlc generate" made the other files,
// by version 1.31.1; it takes minutes to build, so the tests don't run it.
package sqlc

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/servers"
)

func TestOrders(t *testing.T) {
	server, err := servers.StartPostgres(t.TempDir(), nil)
	must(t, err)
	defer server.Kill()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, server.URL())
	must(t, err)
	defer conn.Close(ctx)
	schema, err := os.ReadFile("schema.sql")
	must(t, err)
	_, err = conn.Exec(ctx, string(schema))
	must(t, err)

	queries := New(conn)
	for _, id := range []OrderID{-1, 0, 4594531474933654033} {
		must(t, queries.AddOrder(ctx, AddOrderParams{ID: id, Item: "tea"}))
		if order, err := queries.OrderByID(ctx, id); err != nil || order != (Order{id, "tea"}) {
			t.Errorf("%v came back as %v: %v", id, order, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
