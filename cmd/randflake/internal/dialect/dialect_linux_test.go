package dialect

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/idtext"
	"github.com/randflake/randflake/internal/test/idtest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
)

var (
	postgresServer *servers.Postgres
	mariaDB        *servers.MySQL
)

func TestMain(m *testing.M) { os.Exit(servers.ShareSQL(m, &postgresServer, &mariaDB)) }

// must ends a test on an error.
var must = require.NoError

// TestFunctions: what SQL makes of raw values, IDs and texts is what the library does.
func TestFunctions(t *testing.T) {
	require.Done(t)(mariaDB.Do(Text("mysql")))
	for _, d := range []struct {
		name, driver, source string
		before               string // statements
		use                  string // gives the session a secret
		opened               string // masked, unmasked, second, node and sequence of a raw value and an ID
		keys                 []string
		text                 []string // and the unsigned number of an ID
		id                   []string // of a text
	}{{
		"PostgreSQL", "pgx", postgresServer.URL(),
		// In columns where A equals a, the text form is still in lower case.
		"CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);" + Text("postgres"),
		"SELECT randflake_use($1)",
		"SELECT randflake_mask($1::bigint, KEY), randflake_unmask($2::bigint, KEY), extract(epoch FROM randflake_time($3::bigint, KEY))::bigint, randflake_node($4::bigint, KEY), randflake_sequence($5::bigint, KEY)",
		[]string{"(SELECT randflake_key())", "randflake_key_of('HEX')"},
		[]string{"SELECT randflake_text($1::bigint), randflake_unsigned($2::bigint)::text"},
		[]string{"SELECT randflake_id($1)", "SELECT randflake_id($1::text COLLATE caseless)"},
	}, {
		"MariaDB", "mysql", configOf(t, mariaDB).FormatDSN(), "DO 0", "SET @randflake_key = randflake_key_of(?)",
		"SELECT randflake_mask(?, KEY), randflake_unmask(?, KEY), TIMESTAMPDIFF(SECOND, '1970-01-01', randflake_time(?, KEY)), randflake_node(?, KEY), randflake_sequence(?, KEY)",
		[]string{"@randflake_key"},
		[]string{"SELECT randflake_text(CAST(? AS SIGNED)), CAST(? AS UNSIGNED)",
			"SELECT randflake_text(CAST(? AS UNSIGNED)), CAST(? AS UNSIGNED)"},
		[]string{"SELECT randflake_id(?)"},
	}} {
		t.Run(d.name, func(t *testing.T) {
			db, err := sql.Open(d.driver, d.source)
			must(t, err)
			defer db.Close()
			db.SetMaxOpenConns(1) // a session
			require.Done(t)(db.Exec(d.before))
			for range 4 {
				secret := randflake.NewSecret()
				require.Done(t)(db.Exec(d.use, secret.Hex()))
				for _, key := range d.keys {
					testOpened(t, db, secret, strings.ReplaceAll(d.opened, "KEY", strings.ReplaceAll(key, "HEX", secret.Hex())))
				}
			}
			testText(t, db, d.text, d.id)
		})
	}
	t.Run("plans", testPlans)
}

// TestRights: in MariaDB a user with EXECUTE alone opens and makes IDs, also where the one who made the functions that open them is gone, but
// reads no key and moves no cursor.
func TestRights(t *testing.T) {
	m := newMariaDB(t, runningClock)
	t.Cleanup(func() { mariaDB.Do("DROP USER app; DROP DATABASE opened") })
	made := strings.ReplaceAll(Text("mysql"), "CREATE FUNCTION", "CREATE DEFINER = maker FUNCTION")
	require.Done(t)(mariaDB.Do("CREATE DATABASE opened; CREATE USER maker; GRANT ALL ON opened.* TO maker; USE opened;\n" + made + `DROP USER maker;
		CREATE USER app IDENTIFIED BY 'app'; GRANT EXECUTE ON opened.* TO app; GRANT EXECUTE ON ` + m.name + ".* TO app"))
	config := configOf(t, mariaDB)
	config.User, config.Passwd, config.DBName = "app", "app", "opened"
	app, err := sql.Open("mysql", config.FormatDSN())
	must(t, err)
	defer app.Close()
	var id randflake.ID
	must(t, app.QueryRow("SELECT "+m.name+".randflake_next()").Scan(&id))
	query := "SELECT randflake_mask(?, KEY), randflake_unmask(?, KEY), TIMESTAMPDIFF(SECOND, '1970-01-01', randflake_time(?, KEY)), " +
		"randflake_node(?, KEY), randflake_sequence(randflake_id(randflake_text(?)), KEY)"
	testOpened(t, app, m.secret, strings.ReplaceAll(query, "KEY", "randflake_key_of('"+m.secret.Hex()+"')"))
	for _, statement := range []string{
		"SELECT round_keys FROM randflake_default", "UPDATE randflake_default SET node = 9", "SELECT NEXTVAL(randflake_cursor)", "CALL randflake_raise()",
	} {
		statement = strings.Replace(statement, "randflake_", m.name+".randflake_", 1)
		require.Says(t, "denied", "%s", statement)(app.Exec(statement))
	}
}

func testOpened(t *testing.T, db *sql.DB, secret randflake.Secret, query string) {
	cipher := randflake.NewCipher(secret)
	for i := range 400 {
		raw := randflake.Raw(rand.Uint64())
		if i < 128 {
			raw = 1<<(i%64) - randflake.Raw(i/64)
		}
		id := cipher.Encrypt(raw)
		f := cipher.Inspect(id)
		var got [5]int64
		want := [5]int64{int64(id), int64(raw), f.Time.Unix(), int64(f.Node), int64(f.Sequence)}
		err := db.QueryRow(query, int64(raw), id, id, id, id).Scan(&got[0], &got[1], &got[2], &got[3], &got[4])
		require.Must(t, err == nil && got == want, "%s of %d: %d, %v, want %d", query, uint64(raw), got, err, want)
	}
}

// withoutPrefix returns the digits of a typed ID.
func withoutPrefix(text string) string {
	end := strings.LastIndexByte(text, '_')
	if end < 0 || !idtext.IsPrefix(text[:end]) {
		return text
	}
	return text[end+1:]
}

// looks are what an error says that a text looks like, in Go as in SQL.
var looks = regexp.MustCompile("a decimal number|as gosuda/randflake prints it|has capitals: want lower case|want 13 digits of base32hex")

func testText(t *testing.T, db *sql.DB, textQueries, idQueries []string) {
	// These look like texts of IDs. The library refuses most of them.
	texts := []string{"", "0", "00", "01", "10", "A", "w", "-", "-1", "--1", "+1", " 1", "1 ", "1\n", "1\t", "1=",
		"0x1", "1.0", "1e3", "null", "é", "١", "v\u0301", "ｖ",
		"fvvvvvvvvvvvv", "FVVVVVVVVVVVV", "VVVVVVVVVVVVV", "wvvvvvvvvvvvv", "vvvvvvvvvvvvv\n", "vvvvvvvvvvvv",
		"g0000000000000", "10000000000000", "fvvvvvvvvvvvvv",
		strings.Repeat("0", 13), strings.Repeat("v", 300), "'" + strings.Repeat("\\", 40)}
	for _, prefix := range []string{"", "1a", "A", "_a", "ord_", "a-b", strings.Repeat("a", 63), strings.Repeat("a", 64)} {
		texts = append(texts, prefix+"_vvvvvvvvvvvvv")
	}
	const near = "0123456789abcdefghijklmnopqrstuvwxyzAV -\n_%\\'"
	ids := []randflake.ID{0, 1, -1, 32, math.MaxInt64, math.MinInt64, 4594531474933654033, -4594531474933654033, 0o1234567}
	for range 200 {
		id := randflake.ID(rand.Uint64() >> rand.IntN(64))
		text := []byte(id.String())
		text[rand.IntN(len(text))] = near[rand.IntN(len(near))]
		ids, texts = append(ids, id), append(texts, string(text))
	}
	for _, v := range idtest.Vectors(t, "../../../../testdata/randflake.json") {
		id := randflake.MustParse(v.Text)
		ids, texts = append(ids, id), append(texts, v.GosudaText)
	}
	for _, id := range ids {
		for _, query := range textQueries {
			var text, decimal string
			if err := db.QueryRow(query, id, id).Scan(&text, &decimal); err != nil || text != id.String() ||
				decimal != strconv.FormatUint(uint64(id), 10) {
				t.Errorf("%s of %d: %q and %q, %v; want %v and %d", query, int64(id), text, decimal, err, id, uint64(id))
			}
		}
		texts = append(texts, id.String(), "tkt_"+id.String(), "a_b2_"+id.String())
	}
	for _, query := range idQueries {
		for _, text := range texts {
			var id randflake.ID
			want, wantErr := randflake.Parse(withoutPrefix(text))
			err := db.QueryRow(query, text).Scan(&id)
			require.That(t, (err != nil) == (wantErr != nil) && id == want && looks.FindString(fmt.Sprint(err)) == looks.FindString(fmt.Sprint(wantErr)),
				"%q is %d, %v; the library says %d, %v", text, int64(id), err, int64(want), wantErr)
		}
		var null sql.Null[randflake.ID]
		if err := db.QueryRow(query, nil).Scan(&null); err != nil || null.Valid {
			t.Errorf("NULL is %v, %v", null, err)
		}
	}
}

// Plans stay parallel, and the workers have the key; a masked ID is found by the index of inner
// IDs, and an inner one of masked IDs.
func testPlans(t *testing.T) {
	db, err := sql.Open("pgx", postgresServer.URL())
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.Exec("SELECT randflake_use('" + randflake.NewSecret().Hex() + `'); CREATE TABLE numbers AS SELECT randflake_mask(n) AS id FROM generate_series(1, 5000) n; CREATE INDEX ON numbers (id); ANALYZE numbers;
		SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET enable_seqscan = on`)
	must(t, err)
	for condition, want := range map[string]string{
		"randflake_time(id) > '2030-01-01'":                               "Parallel Seq Scan",
		"randflake_node(id, (SELECT randflake_key())) = 42":               "Parallel Seq Scan",
		"id = randflake_mask(4711)":                                       "Index",
		"id = randflake_mask(4711, (SELECT randflake_key()))":             "Index",
		"id IN (randflake_mask(1), randflake_mask(2), randflake_mask(3))": "Index",
	} {
		rows, err := db.Query("EXPLAIN (ANALYZE, VERBOSE, COSTS OFF) SELECT count(*) FROM numbers WHERE " + condition)
		must(t, err)
		var plan, line string
		for rows.Next() {
			must(t, rows.Scan(&line))
			plan += line + "\n"
		}
		if err := rows.Err(); err != nil || !strings.Contains(plan, want) || strings.Contains(plan, "Workers Launched: 0") {
			t.Errorf("%s: %v, want %s:\n%s", condition, err, want, plan)
		}
	}
}
