package databases

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/randflake/randflake"
	compat "github.com/randflake/randflake/compat"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/ulid"
)

// One server of each kind is for all tests, each of which has tables of its own.
var (
	postgresServer *servers.Postgres
	mariaDB        *servers.MySQL
)

func TestMain(m *testing.M) { os.Exit(servers.ShareSQL(m, &postgresServer, &mariaDB)) }

// must ends a test on an error.
var must = require.NoError

// A database is one as a driver answers: in text, or in binary.
type database struct{ driver, source, unsigned, parameter string }

func databases(t *testing.T) map[string]database {
	address, err := url.Parse(mariaDB.URL())
	must(t, err)
	mysql := fmt.Sprintf("%s@tcp(%s)%s", address.User, address.Host, address.Path)
	return map[string]database{ // PostgreSQL has no unsigned integers
		"PostgreSQL, text":   {"pgx", postgresServer.URL() + "&default_query_exec_mode=simple_protocol", "NUMERIC(20)", "$1"},
		"PostgreSQL, binary": {"pgx", postgresServer.URL(), "NUMERIC(20)", "$1"},
		"MariaDB, text":      {"mysql", mysql + "?interpolateParams=true", "BIGINT UNSIGNED", "?"},
		"MariaDB, binary":    {"mysql", mysql, "BIGINT UNSIGNED", "?"},
	}
}

// ids have their highest bit set or not, and texts with and without letters after the first one.
var ids = []randflake.ID{
	0,
	1,
	-1,
	32,
	math.MaxInt64,
	math.MinInt64,
	4594531474933654033,
	-4594531474933654033,
	0o1234567,
}

// testColumn reads IDs that went into a column, as they are, into a pointer and into an sql.Null, and
// finds each by all three.
func testColumn[T comparable](t *testing.T, db *sql.DB, kind, parameter string, of func(randflake.ID) T) {
	table := fmt.Sprintf("column%d", rand.Uint32())
	require.Done(t)(db.Exec(fmt.Sprintf("CREATE TABLE %s (n BIGINT, id %s, none %s)", table, kind, kind)))
	for i, id := range ids {
		_, err := db.Exec(fmt.Sprintf("INSERT INTO %s (n, id) VALUES (%d, %s)", table, i, parameter), of(id))
		must(t, err)

		var got T
		var some, none *T
		var null sql.Null[T]
		row := fmt.Sprintf("FROM %s WHERE n = %d", table, i)
		err = db.QueryRow("SELECT id, id, id, none "+row).Scan(&got, &some, &null, &none)
		if err != nil || got != of(id) || *some != got || null.V != got || none != nil {
			t.Errorf("%v came back from a %s as %v, %v, %v, and NULL as %v: %v", of(id), kind, got, some, null, none, err)
		}
		for _, argument := range []any{got, some, null} {
			var n int
			err := db.QueryRow("SELECT n "+row+" AND id = "+parameter, argument).Scan(&n)
			require.That(t, err == nil, "a %T does not find %v in a %s: %v", argument, of(id), kind, err)
		}
	}

	var got T
	err := db.QueryRow("SELECT none FROM " + table).Scan(&got)
	require.ErrorIs(t, err, randflake.ErrInvalidID, "NULL into a %T: %v", got, got)
}

func TestColumns(t *testing.T) {
	for name, d := range databases(t) {
		t.Run(name, func(t *testing.T) {
			db, err := sql.Open(d.driver, d.source)
			must(t, err)
			defer db.Close()

			testColumn(t, db, "BIGINT", d.parameter, func(id randflake.ID) randflake.ID { return id })
			testColumn(t, db, "BIGINT", d.parameter, func(id randflake.ID) TicketID { return TicketID(id) })
			testColumn(t, db, "BIGINT", d.parameter, func(id randflake.ID) randflake.Raw { return randflake.Raw(id) })
			testColumn(t, db, "VARCHAR(13)", d.parameter, func(id randflake.ID) randflake.TextID { return randflake.TextID(id) })
			testColumn(t, db, "CHAR(13)", d.parameter, func(id randflake.ID) randflake.TextID { return randflake.TextID(id) })
			testColumn(t, db, "CHAR(30)", d.parameter, func(id randflake.ID) ulid.TextID { return ulid.TextID{15: byte(id)} })
			positive := func(id randflake.ID) snowflake.ID { return snowflake.ID(id & math.MaxInt64) }
			testColumn(t, db, "BIGINT", d.parameter, positive)
			testColumn(t, db, d.unsigned, d.parameter, func(id randflake.ID) snowflake.ID { return snowflake.ID(id) })
			testColumn(t, db, "BIGINT", d.parameter, func(id randflake.ID) numberedKey { return numberedKey(id) })
			testColumn(t, db, "BIGINT", d.parameter, func(id randflake.ID) sortableKey { return sortableKey(id) })
			for _, kind := range []string{"UUID", "CHAR(36)", "CHAR(40)"} {
				testColumn(t, db, kind, d.parameter, func(id randflake.ID) datedKey { return uuidMasked(int64(id)) })
			}

			var id, whole randflake.ID
			unsigned := strings.TrimPrefix(d.unsigned, "BIGINT ")
			err = db.QueryRow("SELECT -1, CAST(18446744073709551615 AS "+unsigned+")").Scan(&id, &whole)
			require.That(t, err == nil && id == -1 && whole == -1,
				"-1 is %d, unsigned %d: %v", int64(id), int64(whole), err)
		})
	}
}

func connectPostgres(t *testing.T) *pgx.Conn {
	conn, err := pgx.Connect(t.Context(), postgresServer.URL())
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// TestSecrets has tables whose keys the database makes, by the functions of the command.
func TestSecrets(t *testing.T) {
	functions := func(dialect string) string {
		out, err := exec.Command("go", "run", "../../cmd/randflake",
			"sql", "--dialect", dialect, "--default", "--node", "131071").Output()
		must(t, err)
		return string(out)
	}
	secret := randflake.NewSecret()
	cipher := randflake.NewCipher(secret)
	var id randflake.ID
	wantOwn := func() {
		t.Helper()
		f := cipher.Inspect(id)
		require.That(t, f.Node == 131071 && time.Since(f.Time).Abs() <= time.Hour, "the order is %v, %+v", id, f)
	}

	conn := connectPostgres(t)
	_, err := conn.Exec(t.Context(), functions("postgres")+ordersInPostgres+maskedInPostgres)
	must(t, err)
	_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"randflake_default"}, []string{"secret"},
		pgx.CopyFromRows([][]any{{secret.Hex()}}))
	must(t, err)
	must(t, conn.QueryRow(t.Context(), "INSERT INTO orders (item) VALUES ('tea') RETURNING id").Scan(&id))
	wantOwn()
	must(t, useSecret(t.Context(), conn, secret))
	must(t, conn.QueryRow(t.Context(), "INSERT INTO masked (item) VALUES ('tea') RETURNING id").Scan(&id))
	raw := cipher.Decrypt(id)
	require.That(t, raw == 1, "the first masked order is %v, want 1", raw)

	// The page runs as one script. The statements of the functions' owner stand in their comments.
	file := filepath.Join(mariaDB.Data(), "secret") // where the client may read, as the server
	must(t, os.WriteFile(file, []byte(secret.Hex()), 0o644))
	text := functions("mysql")
	_, owner, _ := strings.Cut(text, "--   LOAD DATA")
	owner, _, _ = strings.Cut(owner, "CREATE TABLE")
	owner = strings.NewReplacer("--   ", "", "'secret'", "'"+file+"'").Replace("LOAD DATA" + owner)
	out, err := mariaDB.Do("CREATE DATABASE ids; USE ids;" + text + owner +
		"USE randflake;" + ordersInMariaDB + "INSERT INTO orders (item) VALUES ('tea') RETURNING id;" +
		"CREATE USER app IDENTIFIED BY 'app'; GRANT ALL ON randflake.* TO app")
	must(t, err)
	must(t, id.Scan([]byte(out)))
	wantOwn()
	source := databases(t)["MariaDB, binary"].source
	db, err := sql.Open("mysql", source)
	must(t, err)
	defer db.Close()
	session, err := db.Conn(t.Context())
	must(t, err)
	must(t, useSecretInMariaDB(t.Context(), session, secret))
	app, err := sql.Open("mysql", "app:app"+source[strings.Index(source, "@"):])
	must(t, err)
	defer app.Close()
	var last int
	for _, insert := range []string{"(item) VALUES (", "(id, item) VALUES (0, ", "(id, item) VALUES (NULL, "} {
		must(t, app.QueryRow("INSERT INTO orders "+insert+"'tea') RETURNING id").Scan(&id))
		wantOwn()
	}
	must(t, app.QueryRow("SELECT LAST_INSERT_ID()").Scan(&last))
	require.That(t, last == 0, "LAST_INSERT_ID() is %d, want 0, as the docs say", last)
	if _, err := app.Exec("SELECT round_keys FROM ids.randflake_default"); err == nil {
		t.Error("who inserts orders reads the key")
	}
}

// TestMoved has a table with the numbers of an AUTO_INCREMENT and new IDs in one column of MariaDB.
// A text changes the row that it names and no other one, and a number that a client sends none. The
// text itself, as a parameter, changes another row: row 0.
func TestMoved(t *testing.T) {
	db, err := sql.Open("mysql", databases(t)["MariaDB, binary"].source)
	must(t, err)
	defer db.Close()
	require.Done(t)(db.Exec("DROP TABLE IF EXISTS orders"))
	require.Done(t)(db.Exec("CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, item TEXT)"))
	require.Done(t)(db.Exec("INSERT INTO orders (item) SELECT 'old' FROM seq_1_to_1000"))
	require.Done(t)(db.Exec("ALTER TABLE orders MODIFY id BIGINT NOT NULL"))

	texts := map[string]randflake.ID{ // Python's int(text, 32), without the 65th bit
		"jvgoe12ccb8gh": 4594531474933654033,
		"nvvvvvvvvvvvv": 9223372036854775807,
		"p99ggggggg000": -7735477150286348288,
		"r0bb8nt7619tu": -5751825978219255874,
		"g000000000010": 32,
		"g000000000099": 297,
		"g000000000000": 0,
	}
	changed := func(text string) (rows []randflake.ID) {
		t.Helper()
		found, err := db.Query("SELECT id FROM orders WHERE item = ?", text)
		must(t, err)
		defer found.Close()
		for found.Next() {
			var id randflake.ID
			must(t, found.Scan(&id))
			rows = append(rows, id)
		}
		must(t, found.Err())
		return rows
	}
	for text, id := range texts {
		if id > 1000 || id <= 0 {
			result, err := db.Exec("INSERT INTO orders (id, item) VALUES (?, 'new')", id)
			must(t, err)
			require.Gives(t, int64(0), "LastInsertId")(result.LastInsertId())
		}
		must(t, renameOrder(t.Context(), db, text, text))
		if rows := changed(text); !slices.Equal(rows, []randflake.ID{id}) {
			t.Errorf("%s changed %d, want %d", text, rows, int64(id))
		}
	}
	for _, number := range []string{"10", "99", "4594531474933654033"} {
		require.ErrorIs(t, renameOrder(t.Context(), db, number, "wrong"), randflake.ErrInvalidID, "%s as a text", number)
	}
	require.Done(t)(db.Exec("UPDATE orders SET item = 'wrong' WHERE id = ?", randflake.TextID(4594531474933654033)))
	if rows := changed("wrong"); !slices.Equal(rows, []randflake.ID{0}) {
		t.Errorf("a TextID changed %d, want 0, as the docs say", rows)
	}
}

// pairRows is how many rows the table of a pair has: IDs from 0 on, and their texts.
const pairRows = 41

func openPairs(t *testing.T, d database) *sql.DB {
	db, err := sql.Open(d.driver, d.source)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	require.Done(t)(db.Exec("DROP TABLE IF EXISTS pairs"))
	require.Done(t)(db.Exec("CREATE TABLE pairs (id BIGINT, zero BIGINT, text VARCHAR(13))"))
	for id := range randflake.ID(pairRows) {
		require.Done(t)(db.Exec(fmt.Sprintf("INSERT INTO pairs VALUES (%d, 0, '%v')", int64(id), id)))
	}
	return db
}

// pair says what SELECT finds where a column is equal to a parameter, and fails unless DELETE removes
// that and nothing else.
func pair(t *testing.T, db *sql.DB, column, parameter string, value any) (found string, err error) {
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	where := fmt.Sprintf(" FROM pairs WHERE %s = %s", column, parameter)
	var n, sum, left int
	if err := tx.QueryRow("SELECT COUNT(*), COALESCE(SUM(id), 0)"+where, value).Scan(&n, &sum); err != nil {
		return "", err
	}
	if _, err := tx.Exec("DELETE"+where, value); err != nil {
		return "", err
	}
	must(t, tx.QueryRow("SELECT COALESCE(SUM(id), 0) FROM pairs").Scan(&left))
	if all := pairRows * (pairRows - 1) / 2; sum+left != all {
		t.Errorf("%s = %#v: SELECT finds IDs whose sum is %d, after DELETE it is %d, want %d in all",
			column, value, sum, left, all)
	}
	switch n {
	case 0:
		return "no row", nil
	case 1:
		return fmt.Sprintf("row %d", sum), nil
	case pairRows:
		return "all rows", nil
	}
	return fmt.Sprintf("%d rows", n), nil
}

// TestPairs makes the table of docs/databases.md from what MariaDB does.
func TestPairs(t *testing.T) {
	page, err := os.ReadFile("../../docs/databases.md")
	must(t, err)
	plain := strings.ReplaceAll(string(page), "**", "")
	for _, name := range []string{"MariaDB, text", "MariaDB, binary"} {
		d := databases(t)[name]
		db := openPairs(t, d)
		for _, tt := range []struct {
			shown  string
			values []any
		}{
			{"`randflake.ID(32)`, `32`", []any{randflake.ID(32), 32}},
			{"`randflake.ID(0)`, `0`", []any{randflake.ID(0), 0}},
			{"`randflake.TextID(32)`, `\"g000000000010\"`", []any{randflake.TextID(32), "g000000000010"}},
			{"`randflake.TextID(0)`, `\"g000000000000\"`", []any{randflake.TextID(0), "g000000000000"}},
		} {
			for _, value := range tt.values {
				row := "| " + tt.shown + " |"
				for _, column := range []string{"id", "zero", "text"} {
					found, err := pair(t, db, column, d.parameter, value)
					must(t, err)
					row += " " + found + " |"
				}
				require.That(t, strings.Contains(plain, row+"\n"),
					"%s, %#v: docs/databases.md should have the row\n%s", name, value, row)
			}
		}
	}
}

// TestPairsInPostgres: PostgreSQL refuses a text beside a BIGINT, and by an integer it finds no text.
func TestPairsInPostgres(t *testing.T) {
	for _, name := range []string{"PostgreSQL, text", "PostgreSQL, binary"} {
		d := databases(t)[name]
		db := openPairs(t, d)
		for _, id := range []randflake.ID{0, 32} {
			for _, column := range []string{"id", "zero"} {
				for _, text := range []any{id.String(), randflake.TextID(id)} {
					found, err := pair(t, db, column, d.parameter, text)
					require.That(t, err != nil, "%s: %s = %#v finds %s", name, column, text, found)
				}
			}
			for _, n := range []any{id, int64(id)} {
				if found, err := pair(t, db, "text", d.parameter, n); err == nil && found != "no row" {
					t.Errorf("%s: text = %#v finds %s", name, n, found)
				}
			}
		}
		const text = "j9asnv055nmpf"
		require.Done(t)(randflake.Parse(text))
		_, err := db.Exec("SELECT CAST('" + text + "' AS DATE)")
		require.That(t, err == nil, "docs/databases.md says that %s is a date: %v", text, err)
	}
}

// statementsOf returns the blocks of SQL in a section of docs/moving.md, databases.md or security.md.
func statementsOf(t *testing.T, section string) (blocks []string) {
	pages, err := exec.Command("cat", "../../docs/moving.md", "../../docs/databases.md", "../../docs/security.md").Output()
	must(t, err)
	_, text, _ := strings.Cut(string(pages), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, block := range strings.Split(text, "\n```sql\n")[1:] {
		code, _, _ := strings.Cut(block, "```\n")
		blocks = append(blocks, code)
	}
	return blocks
}

// TestFromGosuda runs the statement of docs/moving.md that changes texts of gosuda's, twice: the
// second time it must not change anything.
func TestFromGosuda(t *testing.T) {
	statements := statementsOf(t, "From gosuda.org/randflake")
	require.Must(t, len(statements) == 1, "%d blocks of SQL, want one", len(statements))
	texts := map[string]string{}
	for _, v := range idtest.Vectors(t, "../../testdata/randflake.json") {
		texts[v.GosudaText] = v.Text
	}
	for _, id := range ids {
		texts[compat.EncodeString(int64(id))] = id.String()
	}
	for name, d := range databases(t) {
		for _, kind := range []string{"VARCHAR(13)", "CHAR(13)"} {
			db, err := sql.Open(d.driver, d.source)
			must(t, err)
			defer db.Close()
			require.Done(t)(db.Exec("DROP TABLE IF EXISTS gosuda"))
			require.Done(t)(db.Exec("CREATE TABLE gosuda (id " + kind + " PRIMARY KEY, gosuda VARCHAR(13))"))
			for text := range texts {
				require.Done(t)(db.Exec("INSERT INTO gosuda VALUES ('" + text + "', '" + text + "')"))
			}
			for range 2 {
				require.Done(t)(db.Exec(strings.ReplaceAll(statements[0], "orders", "gosuda")))
			}
			got := map[string]string{}
			rows, err := db.Query("SELECT gosuda, id FROM gosuda")
			must(t, err)
			defer rows.Close()
			for rows.Next() {
				var text string
				var id randflake.TextID
				must(t, rows.Scan(&text, &id))
				got[text] = id.String()
			}
			must(t, rows.Err())
			require.That(t, maps.Equal(got, texts), "%s, %s: texts have become %v, want %v", name, kind, got, texts)
		}
	}
}

// TestFromUUIDs runs the statements of docs/moving.md, which give a table of UUIDs other keys, with
// batches of 10 rows for its 15.
func TestFromUUIDs(t *testing.T) {
	steps := statementsOf(t, "From UUIDs")
	require.Must(t, len(steps) == 3,
		"%d blocks of SQL, want what comes before the batches, a batch, and what comes after", len(steps))
	steps[1] = strings.ReplaceAll(steps[1], "10000", "10")

	programs, home := t.TempDir(), t.TempDir()
	out, err := exec.Command("go", "build", "-o", programs, "../../cmd/randflake").CombinedOutput()
	require.Must(t, err == nil, "%v: %s", err, out)
	source := postgresServer.URL()
	psql := func(statements string) string {
		t.Helper()
		cmd := exec.Command("psql", "--no-psqlrc", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--dbname="+source)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "PATH="+programs+":"+os.Getenv("PATH"))
		cmd.Stdin = strings.NewReader(statements)
		out, err := cmd.CombinedOutput()
		require.Must(t, err == nil, "%s: %v: %s", statements, err, out)
		return string(out)
	}
	psql("CREATE DATABASE uuids")
	source = strings.Replace(source, "/postgres?", "/uuids?", 1)
	psql(`CREATE TABLE orders (id UUID PRIMARY KEY DEFAULT gen_random_uuid(), item INT);
		CREATE TABLE lines (order_id UUID NOT NULL REFERENCES orders, item INT);
		INSERT INTO orders (item) SELECT generate_series(1, 15);
		INSERT INTO lines SELECT id, item FROM orders CROSS JOIN generate_series(1, 2)`)

	psql(steps[0])
	for _, want := range []string{"UPDATE 10\n", "UPDATE 5\n", "UPDATE 0\n"} {
		said := psql(steps[1])
		require.Must(t, strings.Contains(said, want), "a batch says %q, want %q", said, want)
	}
	psql(steps[2])
	const right = `SELECT count(*), count(DISTINCT orders.id), count(uuid)
		FROM orders JOIN lines ON order_id = orders.id AND lines.item = orders.item`
	if got := psql(right); got != "30|15|30\n" {
		t.Errorf("lines that have their order, orders, and lines whose order has its UUID: %q, want 30, 15 and 30", got)
	}
}

func TestPGX(t *testing.T) {
	ctx := t.Context()
	conn := connectPostgres(t)
	require.Done(t)(conn.Exec(ctx, "CREATE TABLE items (id bigint PRIMARY KEY, name text NOT NULL)"))

	items := []Item{{Name: "tea"}, {Name: "two cups"}, {Name: "a pot"}}
	must(t, copyItems(ctx, conn, items))
	got, err := itemsByID(ctx, conn, []randflake.ID{items[1].ID, items[1].ID ^ 1})
	require.That(t, err == nil && slices.Equal(got, items[1:2]), "got %v, %v; want %v", got, err, items[1])

	testMaskedInPGX(t, conn)
	registerIDs(conn)
	conn.TypeMap().RegisterDefaultPgType([]numberedKey(nil), "_int8")
	conn.TypeMap().RegisterDefaultPgType([]sortableKey(nil), "_int8")
	conn.TypeMap().RegisterDefaultPgType([]datedKey(nil), "_uuid")
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement,
		pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		testArray(t, conn, mode, "bigint[]", func(id randflake.ID) randflake.ID { return id })
		testArray(t, conn, mode, "bigint[]", func(id randflake.ID) TicketID { return TicketID(id) })
		testArray(t, conn, mode, "text[]", func(id randflake.ID) randflake.TextID { return randflake.TextID(id) })
		testArray(t, conn, mode, "bigint[]", func(id randflake.ID) numberedKey { return numberedKey(id) })
		testArray(t, conn, mode, "bigint[]", func(id randflake.ID) sortableKey { return sortableKey(id) })
		testArray(t, conn, mode, "uuid[]", func(id randflake.ID) datedKey { return uuidMasked(int64(id)) })
	}
}

// testArray has an array come back, with a NULL in it or not.
func testArray[T comparable](
	t *testing.T, conn *pgx.Conn, mode pgx.QueryExecMode, kind string, of func(randflake.ID) T,
) {
	var want, got []T
	for _, id := range ids {
		want = append(want, of(id))
	}
	var some []*T
	query := "SELECT $1::" + kind + ", array_append($1::" + kind + ", NULL)"
	err := conn.QueryRow(t.Context(), query, mode, want).Scan(&got, &some)
	require.Must(t, err == nil && slices.Equal(got, want), "%v: %v, want %v: %v", mode, got, want, err)
	require.That(t, len(some) == len(want)+1 && *some[0] == want[0] && some[len(want)] == nil,
		"%v: %v, want a NULL at the end", mode, some)
}

// TestGORM: what the tags of Order are for is in docs/databases.md.
func TestGORM(t *testing.T) {
	db, err := gorm.Open(postgres.Open(postgresServer.URL()), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	must(t, db.Migrator().DropTable(&Order{})) // that of another test
	must(t, db.AutoMigrate(&Order{}))

	orders := []Order{{Item: "tea"}, {ID: -1, Item: "two cups"}, {Item: "tea"}}
	must(t, db.Create(&orders).Error)
	require.That(t, orders[0].ID != 0 && orders[1].ID == -1 && orders[2].ID != 0, "orders have the IDs of %v", orders)

	var got []Order
	must(t, db.Order("id").Find(&got, []OrderID{orders[0].ID, -1, orders[2].ID}).Error)
	byID := func(a, b Order) int { return cmp.Compare(a.ID, b.ID) }
	if slices.SortFunc(orders, byID); !slices.Equal(got, orders) {
		t.Errorf("%v came back as %v", orders, got)
	}
}

// TestGORMCallback: rows, slices and associations get keys of each kind, which without the callback
// are 1, 2, 3.
func TestGORMCallback(t *testing.T) {
	db, err := gorm.Open(postgres.Open(postgresServer.URL()), &gorm.Config{Logger: logger.Discard})
	must(t, err)
	must(t, db.AutoMigrate(&Label{}, &Invoice{}, &Line{}))

	var bare Invoice
	must(t, db.Create(&bare).Error)
	require.That(t, bare.ID == 1, "without the callback the key is %d, want 1", int64(bare.ID))

	must(t, db.Callback().Create().Before("gorm:create").Register("randflake", giveIDs))
	one := Invoice{Lines: []Line{{Label: &Label{Text: "tea"}}, {ID: 7, Label: &Label{ID: 8}}}}
	many := []*Invoice{{}, {ID: -1}, {Lines: []Line{{Label: &Label{Text: "cups"}}}}}
	must(t, db.Create(&one).Error)
	must(t, db.Create(&many).Error)
	require.That(t, one.Lines[1].ID == 7 && one.Lines[1].LabelID == 8 && many[1].ID == -1,
		"keys that there were are %v, %v and %v", one.Lines[1].ID, one.Lines[1].LabelID, many[1].ID)

	row := map[string]any{}
	for _, rows := range []any{row, &row, []map[string]any{row}} {
		require.ErrorSays(t, db.Model(&Invoice{}).Create(rows).Error, "want a struct", "a %T is created without a key", rows)
	}

	seen := map[randflake.ID]bool{}
	for _, invoice := range append(many, &one) {
		var got Invoice
		must(t, db.Preload("Lines.Label").First(&got, "id = ?", invoice.ID).Error)
		keys := []randflake.ID{got.ID}
		for i, line := range got.Lines {
			keys = append(keys, randflake.ID(line.ID), randflake.ID(line.LabelID))
			require.That(t, line.InvoiceID == invoice.ID && line.Label.Text == invoice.Lines[i].Label.Text,
				"line %v of %v has %v, %+v", line.ID, invoice.ID, line.InvoiceID, line.Label)
		}
		for _, key := range keys {
			small := key >= 0 && key < 1000 && key != 7 && key != 8
			require.That(t, !seen[key] && !small, "%v, which is %d, is no key of its own", key, int64(key))
			seen[key] = true
		}
	}
	require.That(t, len(seen) == 10, "there are %d keys, want 10", len(seen))
}

func TestBun(t *testing.T) {
	source, err := sql.Open("pgx", postgresServer.URL())
	must(t, err)
	defer source.Close()
	db := bun.NewDB(source, pgdialect.New())
	require.Done(t)(db.NewCreateTable().Model((*Note)(nil)).Exec(t.Context()))

	notes := []Note{{Author: 32, Text: "tea"}, {ID: -1, Author: -1, Text: "cups"}, {Text: "a pot"}}
	require.Done(t)(db.NewInsert().Model(&notes).Exec(t.Context()))
	require.That(t, notes[0].ID != 0 && notes[1].ID == -1 && notes[2].ID != 0 && notes[0].ID != notes[2].ID,
		"notes have the IDs of %v", notes)
	var got []Note
	wanted := bun.List([]randflake.ID{notes[0].ID, -1, notes[2].ID})
	must(t, db.NewSelect().Model(&got).Where("id IN (?)", wanted).Scan(t.Context()))
	byText := func(a, b Note) int { return cmp.Compare(a.Text, b.Text) }
	slices.SortFunc(notes, byText)
	if slices.SortFunc(got, byText); !slices.Equal(got, notes) {
		t.Errorf("%v came back as %v", notes, got)
	}
	var author string
	must(t, source.QueryRow("SELECT author FROM notes WHERE text = 'tea'").Scan(&author))
	require.That(t, author == "g000000000010", "the author of tea is %q, want the text of 32", author)
}

// TestEnt has ent make its code of the schema, in a copy of this module, and runs a program with it.
func TestEnt(t *testing.T) {
	here, err := os.Getwd()
	must(t, err)
	dir := t.TempDir()
	copied := func(from, to string) {
		data, err := os.ReadFile(from)
		must(t, err)
		to = filepath.Join(dir, to)
		must(t, os.MkdirAll(filepath.Dir(to), 0o700))
		must(t, os.WriteFile(to, data, 0o600))
	}
	copied("go.mod", "go.mod")
	copied("go.sum", "go.sum")
	copied("entschema/schema.go", "entschema/schema.go")
	copied("testdata/ent.go", "main.go")
	must(t, os.Mkdir(filepath.Join(dir, "orm"), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "orm", "orm.go"), []byte("package orm\n"), 0o600))

	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod "+os.Getenv("GOFLAGS"))
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		require.Must(t, err == nil, "go %q: %v: %s", args, err, &errs)
		return string(out)
	}
	run("mod", "edit", "-replace=github.com/randflake/randflake="+filepath.Join(here, "..", ".."))
	run("tool", "ent", "generate", "--target", "./orm", "./entschema")
	lines := strings.Split(strings.TrimSpace(run("run", ".", postgresServer.URL())), "\n")
	require.Must(t, len(lines) == 3 && lines[1] == "vvvvvvvvvvvvv cups",
		"ent made %q, want three rows, the second with the ID -1", lines)
	for i, item := range []string{0: "tea", 2: "a pot"} {
		if item == "" {
			continue
		}
		text, rest, _ := strings.Cut(lines[i], " ")
		id, err := randflake.Parse(text)
		if err != nil || rest != item || id >= 0 && id < 1000 {
			t.Errorf("row %d is %q, %v", i, lines[i], err)
		}
	}
}
