package databases

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/randflake/randflake"
)

// Plans stay parallel, and the workers have the key; a masked ID is found by the index of inner IDs, and an inner one of masked IDs.
func testPlans(t *testing.T) {
	conn := connectPostgres(t)
	must(t, useSecret(t.Context(), conn, randflake.NewSecret()))
	_, err := conn.Exec(t.Context(), `CREATE TABLE numbers AS SELECT randflake_mask(n) AS id FROM generate_series(1, 5000) n; CREATE INDEX ON numbers (id); ANALYZE numbers;
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_seqscan = on`)
	must(t, err)
	for condition, want := range map[string]string{
		"randflake_time(id) > '2030-01-01'":                               "Parallel Seq Scan",
		"randflake_node(id, (SELECT randflake_key())) = 42":               "Parallel Seq Scan",
		"id = randflake_mask(4711)":                                       "Index",
		"id = randflake_mask(4711, (SELECT randflake_key()))":             "Index",
		"id IN (randflake_mask(1), randflake_mask(2), randflake_mask(3))": "Index",
	} {
		rows, err := conn.Query(t.Context(), "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) SELECT count(*) FROM numbers WHERE "+condition)
		must(t, err)
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, want) || strings.Contains(text, "Workers Launched: 0") {
			t.Errorf("%s: %v, want %s:\n%s", condition, err, want, text)
		}
	}
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
	registerIDs(conn)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		testArray(t, conn, mode, "bigint[]", func(id randflake.ID) randflake.ID { return id })
		testArray(t, conn, mode, "bigint[]", func(id randflake.ID) TicketID { return TicketID(id) })
		testArray(t, conn, mode, "text[]", func(id randflake.ID) randflake.TextID { return randflake.TextID(id) })
	}
}

// testArray has an array come back, with a NULL in it or not.
func testArray[T comparable](t *testing.T, conn *pgx.Conn, mode pgx.QueryExecMode, kind string, of func(randflake.ID) T) {
	t.Helper()
	var want, got []T
	for _, id := range ids {
		want = append(want, of(id))
	}
	var some []*T
	err := conn.QueryRow(t.Context(), "SELECT $1::"+kind+", array_append($1::"+kind+", NULL)", mode, want).Scan(&got, &some)
	if err != nil || !slices.Equal(got, want) || len(some) != len(want)+1 || *some[0] != want[0] || some[len(want)] != nil {
		t.Errorf("%v: %v, %v: %v", mode, got, some, err)
	}
}

func TestGORM(t *testing.T) {
	db, err := gorm.Open(postgres.Open(postgresServer.URL()), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	defer pool.Close()
	// Without the tags of Order the key is a sequence's, and without the default it is 0.
	type Careless struct {
		ID   randflake.ID
		Item string
	}
	type LessCareless struct {
		ID   randflake.ID `gorm:"primaryKey;autoIncrement:false"`
		Item string
	}
	must(t, db.AutoMigrate(&Careless{}, &LessCareless{}, &Order{}))
	careless, less := Careless{Item: "tea"}, LessCareless{Item: "tea"}
	if err, lessErr := db.Create(&careless).Error, db.Create(&less).Error; err != nil || lessErr != nil || careless.ID != 1 || less.ID != 0 {
		t.Errorf("GORM has become more careful: keys %d and %d, %v, %v; docs/databases.md says otherwise", int64(careless.ID), int64(less.ID), err, lessErr)
	}
	orders := []Order{{Item: "tea"}, {ID: -1, Item: "two cups"}, {Item: "tea"}}
	must(t, db.Create(&orders).Error)
	for _, want := range orders {
		var byID, first Order
		if err, firstErr := db.First(&byID, "id = ?", want.ID).Error, db.First(&first, want.ID).Error; err != nil || firstErr != nil || byID != want || first != want || want.ID == 0 {
			t.Errorf("%v came back as %v and %v: %v, %v", want, byID, first, err, firstErr)
		}
	}
	if orders[1].ID != -1 || orders[0].ID == orders[2].ID {
		t.Errorf("keys: %v", orders)
	}
}
