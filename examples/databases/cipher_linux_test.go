package databases

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
)

// The two that docs/databases.md shows.
const (
	ordersInPostgres = `
CREATE SEQUENCE order_numbers;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT randflake_mask(nextval('order_numbers')), item text);
`
	ordersInMariaDB = `
CREATE SEQUENCE order_numbers;
CREATE TABLE orders (id BIGINT DEFAULT 0 PRIMARY KEY, item TEXT);
CREATE TRIGGER order_ids BEFORE INSERT ON orders FOR EACH ROW
  SET NEW.id = IF(NEW.id <> 0, NEW.id, randflake_mask(NEXTVAL(order_numbers), @randflake_key));
`
)

// checkOrder reads the key of the first row of orders, which opens to 1.
func checkOrder(t *testing.T, secret randflake.Secret, row interface{ Scan(...any) error }) {
	t.Helper()
	var id randflake.ID
	if err := row.Scan(&id); err != nil || randflake.NewCipher(secret).Decrypt(id) != 1 {
		t.Errorf("%v opens to %d: %v", id, randflake.NewCipher(secret).Decrypt(id), err)
	}
}

// functions returns what the command prints for a dialect.
func functions(t *testing.T, dialect string) string {
	t.Helper()
	cmd := exec.Command("go", "run", "../../cmd/randflake", "sql", "--dialect", dialect)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	must(t, err)
	return string(out)
}

var installed sync.Once

// install makes the functions in PostgreSQL and MariaDB.
func install(t *testing.T) {
	installed.Do(func() {
		_, err := connectPostgres(t).Exec(t.Context(), functions(t, "postgres"))
		must(t, err)
		_, err = mariaDB(t).Do(functions(t, "mysql"))
		must(t, err)
	})
}

// A vector is a raw value, its ID, and what is in it.
type vector struct {
	Raw, ID        int64
	Time           int64
	Node, Sequence uint32
}

// vectors returns 5,000 vectors for each of four secrets. The last one of a secret is wrong: a comparison must find it, and no other.
func vectors(t *testing.T) map[randflake.Secret][]vector {
	all := map[randflake.Secret][]vector{}
	for n := range 4 {
		secret := randflake.NewSecret()
		if n == 0 {
			var err error
			secret, err = randflake.ParseSecret("dffd6021bb2bd5b0af676290809ec3a5") // 1733706297, 42, 1 is 4594531474933654033
			must(t, err)
		}
		cipher := randflake.NewCipher(secret)
		for i := range 5001 {
			raw := randflake.Raw(rand.Uint64())
			switch {
			case i < 64:
				raw = 1 << i
			case i < 128:
				raw = 1<<(i-64) - 1
			case i == 128:
				raw = 63673697622556673
			}
			id := cipher.Encrypt(raw)
			if n == 0 && i == 128 && id != 4594531474933654033 {
				t.Fatal(id)
			}
			fields := cipher.Inspect(id)
			all[secret] = append(all[secret], vector{int64(raw), int64(id), fields.Time.Unix(), fields.Node, fields.Sequence})
		}
		all[secret][5000].ID++
	}
	return all
}

// wrong counts the rows of vectors with something that a database computes otherwise; what is in an ID, in every seventh
// row. %[1]s is the key, %[2]s the Unix second of a time.
const wrong = `SELECT COUNT(*), SUM(CASE WHEN randflake_mask(raw, %[1]s) = id AND randflake_unmask(id, %[1]s) = raw AND (sequence %% 7 > 0 OR %[2]s = time
	AND randflake_node(id, %[1]s) = node AND randflake_sequence(id, %[1]s) = sequence) THEN 0 ELSE 1 END) FROM vectors`

func TestCipherInPostgreSQL(t *testing.T) {
	conn := connectPostgres(t)
	install(t)
	_, err := conn.Exec(t.Context(), "CREATE TABLE vectors (raw bigint, id bigint, time bigint, node bigint, sequence bigint);")
	must(t, err)
	for secret, all := range vectors(t) {
		must(t, useSecret(t.Context(), conn, secret))
		_, err = conn.Exec(t.Context(), "TRUNCATE vectors")
		must(t, err)
		_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"vectors"}, strings.Fields("raw id time node sequence"), pgx.CopyFromSlice(len(all), func(i int) ([]any, error) {
			v := all[i]
			return []any{v.Raw, v.ID, v.Time, v.Node, v.Sequence}, nil
		}))
		must(t, err)
		for _, key := range []string{"(SELECT randflake_key())", fmt.Sprintf("randflake_keys('%s')", secret.Hex())} {
			expect(t, conn.QueryRow(t.Context(), fmt.Sprintf(wrong, key, "extract(epoch FROM randflake_time(id, "+key+"))")), len(all))
		}
	}
	secret := randflake.NewSecret()
	must(t, useSecret(t.Context(), conn, secret))
	_, err = conn.Exec(t.Context(), ordersInPostgres+"INSERT INTO orders (item) VALUES ('tea')")
	must(t, err)
	checkOrder(t, secret, conn.QueryRow(t.Context(), "SELECT id FROM orders"))
	// Plans stay parallel, and the workers have the key; a masked ID is found by the index of inner IDs, and an inner one of masked IDs.
	_, err = conn.Exec(t.Context(), `SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_seqscan = on;
		CREATE INDEX ON vectors (id); ANALYZE vectors`)
	must(t, err)
	for query, want := range map[string]string{
		"SELECT count(*) FROM vectors WHERE randflake_time(id) > '2030-01-01'":                               "Parallel Seq Scan",
		"SELECT count(*) FROM vectors WHERE randflake_node(id, (SELECT randflake_key())) = 42":               "Parallel Seq Scan",
		"SELECT count(*) FROM vectors WHERE id = randflake_mask(4711)":                                       "Index",
		"SELECT count(*) FROM vectors WHERE id = randflake_mask(4711, (SELECT randflake_key()))":             "Index",
		"SELECT count(*) FROM vectors WHERE id IN (randflake_mask(1), randflake_mask(2), randflake_mask(3))": "Index",
	} {
		if plan := answer(t, conn, "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) "+query); !strings.Contains(plan, want) || strings.Contains(plan, "Workers Launched: 0") {
			t.Errorf("%s: want %s:\n%s", query, want, plan)
		}
	}
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

// expect takes the answer to wrong.
func expect(t *testing.T, row interface{ Scan(...any) error }, rows int) {
	t.Helper()
	var got, wrong int
	if err := row.Scan(&got, &wrong); err != nil || got != rows || wrong != 1 {
		t.Errorf("%d rows, of which %d are wrong, %v; want %d and 1", got, wrong, err, rows)
	}
}

// answer returns the rows of a query, a line each.
func answer(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query)
	must(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return strings.Join(lines, "\n")
}

func TestCipherInMariaDB(t *testing.T) {
	install(t)
	conn, err := openMariaDB(t, false).Conn(t.Context())
	must(t, err)
	defer conn.Close()
	for secret, all := range vectors(t) {
		must(t, useSecretInMariaDB(t.Context(), conn, secret))
		testVectors(t, conn, all, fmt.Sprintf(wrong, "@randflake_key", "TIMESTAMPDIFF(SECOND, '1970-01-01', randflake_time(id, @randflake_key))"))
	}
	secret := randflake.NewSecret()
	must(t, useSecretInMariaDB(t.Context(), conn, secret))
	_, err = mariaDB(t).Do(ordersInMariaDB)
	must(t, err)
	_, err = conn.ExecContext(t.Context(), "INSERT INTO orders (item) VALUES ('tea')")
	must(t, err)
	checkOrder(t, secret, conn.QueryRowContext(t.Context(), "SELECT id FROM orders"))
}

// testVectors compares vectors by a query.
func testVectors(t *testing.T, conn *sql.Conn, all []vector, query string) {
	t.Helper()
	var values []string
	for _, v := range all {
		values = append(values, fmt.Sprintf("(%d, %d, %d, %d, %d)", v.Raw, v.ID, v.Time, v.Node, v.Sequence))
	}
	for _, statement := range []string{"DROP TABLE IF EXISTS vectors", "CREATE TABLE vectors (raw BIGINT, id BIGINT, time BIGINT, node BIGINT, sequence BIGINT)",
		"INSERT INTO vectors VALUES " + strings.Join(values, ", ")} {
		_, err := conn.ExecContext(t.Context(), statement)
		must(t, err)
	}
	expect(t, conn.QueryRowContext(t.Context(), query), len(all))
}
