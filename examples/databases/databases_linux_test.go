package databases

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/snowflake"
)

// One server of each kind is for all tests, each of which has tables of its own.
var (
	postgresServer *servers.Postgres
	mariaDB        *servers.MySQL
)

type run func() int

func (r run) Run() int { return r() }

func TestMain(m *testing.M) {
	postgres := run(func() int {
		return servers.Share(m, &postgresServer, func(dir string) (*servers.Postgres, error) { return servers.StartPostgres(dir, nil) })
	})
	os.Exit(servers.Share(postgres, &mariaDB, func(dir string) (*servers.MySQL, error) { return servers.StartMySQL(dir) }))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func connectPostgres(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgresServer.URL())
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// openMariaDB opens the database. With parameters that the driver puts into the statement itself, it answers in text.
func openMariaDB(t *testing.T, interpolate bool) *sql.DB {
	t.Helper()
	address, err := url.Parse(mariaDB.URL())
	must(t, err)
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User, config.InterpolateParams = "tcp", address.Host, address.Path[1:], address.User.Username(), interpolate
	config.Passwd, _ = address.User.Password()
	connector, err := mysql.NewConnector(config)
	must(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

// ids have their highest bit set or not, and texts of all lengths and of decimal digits alone.
var ids = []randflake.ID{0, 1, -1, 32, math.MaxInt64, math.MinInt64, 4594531474933654033, -4594531474933654033, 0o1234567}

// testColumn writes IDs into a column and reads them again, as they are, into a pointer and into an sql.Null.
func testColumn[T comparable](t *testing.T, db *sql.DB, kind, parameter string, of func(randflake.ID) T) {
	t.Helper()
	table := fmt.Sprintf("column%d", rand.Uint32())
	_, err := db.Exec("CREATE TABLE " + table + " (n INT, id " + kind + ", none " + kind + ")")
	must(t, err)
	for i, id := range ids {
		_, err := db.Exec("INSERT INTO "+table+" (n, id) VALUES ("+strconv.Itoa(i)+", "+parameter+")", of(id))
		must(t, err)
		var got T
		var some, none *T
		var null sql.Null[T]
		row := db.QueryRow("SELECT id, id, id, none FROM " + table + " WHERE n = " + strconv.Itoa(i))
		if err := row.Scan(&got, &some, &null, &none); err != nil || got != of(id) || *some != got || null.V != got || none != nil {
			t.Errorf("%v came back from a %s as %v, %v, %v, and NULL as %v: %v", of(id), kind, got, some, null, none, err)
		}
		if err := db.QueryRow("SELECT none FROM " + table).Scan(&got); !errors.Is(err, randflake.ErrInvalidID) {
			t.Errorf("NULL into a %T: %v, %v", got, got, err)
		}
	}
}

func TestColumns(t *testing.T) {
	for name, open := range map[string]func() (*sql.DB, error){
		"PostgreSQL, text": func() (*sql.DB, error) {
			return sql.Open("pgx", postgresServer.URL()+"&default_query_exec_mode=simple_protocol")
		},
		"PostgreSQL, binary": func() (*sql.DB, error) { return sql.Open("pgx", postgresServer.URL()) },
		"MariaDB, text":      func() (*sql.DB, error) { return openMariaDB(t, true), nil },
		"MariaDB, binary":    func() (*sql.DB, error) { return openMariaDB(t, false), nil },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open()
			must(t, err)
			defer db.Close()
			unsigned, parameter := "NUMERIC(20)", "$1" // PostgreSQL has no unsigned integers
			if strings.HasPrefix(name, "MariaDB") {
				unsigned, parameter = "BIGINT UNSIGNED", "?"
			}
			testColumn(t, db, "BIGINT", parameter, func(id randflake.ID) randflake.ID { return id })
			testColumn(t, db, "BIGINT", parameter, func(id randflake.ID) TicketID { return TicketID(id) })
			testColumn(t, db, "BIGINT", parameter, func(id randflake.ID) randflake.Raw { return randflake.Raw(id) })
			testColumn(t, db, "VARCHAR(13)", parameter, func(id randflake.ID) randflake.TextID { return randflake.TextID(id) })
			testColumn(t, db, "BIGINT", parameter, func(id randflake.ID) snowflake.ID { return snowflake.ID(id & math.MaxInt64) })
			testColumn(t, db, unsigned, parameter, func(id randflake.ID) snowflake.ID { return snowflake.ID(id) })
			var id, whole randflake.ID
			if err := db.QueryRow("SELECT -1, CAST(18446744073709551615 AS "+strings.TrimPrefix(unsigned, "BIGINT ")+")").Scan(&id, &whole); err != nil || id != -1 || whole != -1 {
				t.Errorf("-1 is %d, unsigned %d: %v", int64(id), int64(whole), err)
			}
			if err := db.QueryRow("SELECT '3vgoe12ccb8gh'").Scan(&id); !errors.Is(err, randflake.ErrInvalidID) || !strings.Contains(err.Error(), "TextID") {
				t.Errorf("a text into an ID: %v, %v, want an error that names TextID", id, err)
			}
		})
	}
}

// A session has the functions that the command prints.
type session struct {
	row  func(query string, args ...any) interface{ Scan(...any) error }
	exec func(query string) error
	use  func(randflake.Secret) error

	opened      string   // masked, unmasked, second, node and sequence of a raw value and an ID
	keys        []string // in opened
	text        []string // and the unsigned number of an ID
	id          []string // of a text
	masksOrders string
}

func sessions(t *testing.T) map[string]session {
	functions := func(dialect string) string {
		cmd := exec.Command("go", "run", "../../cmd/randflake", "sql", "--dialect", dialect)
		cmd.Stderr = t.Output()
		out, err := cmd.Output()
		must(t, err)
		return string(out)
	}
	postgres := connectPostgres(t)
	// In columns where A equals a, the text form is still in lower case.
	_, err := postgres.Exec(t.Context(), "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"+functions("postgres"))
	must(t, err)
	_, err = mariaDB.Do(functions("mysql"))
	must(t, err)
	maria, err := openMariaDB(t, false).Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { maria.Close() })
	return map[string]session{
		"PostgreSQL": {
			func(query string, args ...any) interface{ Scan(...any) error } {
				return postgres.QueryRow(t.Context(), query, args...)
			},
			func(query string) error { _, err := postgres.Exec(t.Context(), query); return err },
			func(secret randflake.Secret) error { return useSecret(t.Context(), postgres, secret) },
			"SELECT randflake_mask($1::bigint, KEY), randflake_unmask($2::bigint, KEY), extract(epoch FROM randflake_time($3::bigint, KEY))::bigint, randflake_node($4::bigint, KEY), randflake_sequence($5::bigint, KEY)",
			[]string{"(SELECT randflake_key())", "randflake_keys('HEX')"},
			[]string{"SELECT randflake_text($1::bigint), randflake_unsigned($2::bigint)::text"}, []string{"SELECT randflake_id($1)", "SELECT randflake_id($1::text COLLATE caseless)"},
			ordersInPostgres,
		},
		"MariaDB": {
			func(query string, args ...any) interface{ Scan(...any) error } {
				return maria.QueryRowContext(t.Context(), query, args...)
			},
			func(query string) error {
				if strings.Count(query, ";") > 1 {
					_, err := mariaDB.Do(query)
					return err
				}
				_, err := maria.ExecContext(t.Context(), query)
				return err
			},
			func(secret randflake.Secret) error { return useSecretInMariaDB(t.Context(), maria, secret) },
			"SELECT randflake_mask(?, KEY), randflake_unmask(?, KEY), TIMESTAMPDIFF(SECOND, '1970-01-01', randflake_time(?, KEY)), randflake_node(?, KEY), randflake_sequence(?, KEY)",
			[]string{"@randflake_key"},
			[]string{"SELECT LOWER(CONV(CAST(? AS SIGNED), 10, 32)), CAST(? AS UNSIGNED)", "SELECT LOWER(CONV(CAST(? AS UNSIGNED), 10, 32)), CAST(? AS UNSIGNED)"}, []string{"SELECT randflake_id(?)"},
			ordersInMariaDB,
		},
	}
}

// What SQL makes of raw values, IDs and texts is what the library does.
func TestFunctions(t *testing.T) {
	for name, s := range sessions(t) {
		for range 4 {
			secret := randflake.NewSecret()
			must(t, s.use(secret))
			for _, key := range s.keys {
				testOpened(t, s, secret, strings.ReplaceAll(s.opened, "KEY", strings.ReplaceAll(key, "HEX", secret.Hex())))
			}
		}
		testText(t, s)
		secret := randflake.NewSecret()
		must(t, s.use(secret))
		must(t, s.exec(s.masksOrders))
		must(t, s.exec("INSERT INTO orders (item) VALUES ('tea')"))
		var id randflake.ID
		if err := s.row("SELECT id FROM orders").Scan(&id); err != nil || randflake.NewCipher(secret).Decrypt(id) != 1 {
			t.Errorf("%s: the first order is %v: %v", name, id, err)
		}
	}
	testPlans(t)
}

func testOpened(t *testing.T, s session, secret randflake.Secret, query string) {
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
		err := s.row(query, int64(raw), id, id, id, id).Scan(&got[0], &got[1], &got[2], &got[3], &got[4])
		if err != nil || got != want {
			t.Fatalf("%s of %d: %d, %v, want %d", query, uint64(raw), got, err, want)
		}
	}
}

var prefix = regexp.MustCompile(`^[a-z]([a-z0-9_]*[a-z0-9])?_`) // of a typed ID

func testText(t *testing.T, s session) {
	// These are nearly texts of IDs, most of which the library refuses.
	texts := []string{"", "0", "00", "01", "A", "w", "-1", "+1", " 1", "1 ", "1\n", "1\t", "1=", "0x1", "1.0", "1e3", "é", "١", "v\u0301", "ｖ",
		"g000000000000", "fvvvvvvvvvvvv", "FVVVVVVVVVVVV", "vvvvvvvvvvvvv", "10000000000000", "fvvvvvvvvvvvvv", strings.Repeat("0", 13), strings.Repeat("v", 300)}
	const near = "0123456789abcdefghijklmnopqrstuvwxyzAV -\n_%\\'"
	all := ids
	for range 200 {
		id := randflake.ID(rand.Uint64() >> rand.IntN(64))
		text := []byte(id.String())
		text[rand.IntN(len(text))] = near[rand.IntN(len(near))]
		all, texts = append(all, id), append(texts, string(text))
	}
	for _, id := range all {
		for _, query := range s.text {
			var text, decimal string
			if err := s.row(query, id, id).Scan(&text, &decimal); err != nil || text != id.String() || decimal != strconv.FormatUint(uint64(id), 10) {
				t.Errorf("%s of %d: %q and %q, %v; want %v and %d", query, int64(id), text, decimal, err, id, uint64(id))
			}
		}
		texts = append(texts, id.String(), "tkt_"+id.String(), "a_b2_"+id.String())
	}
	for _, query := range s.id {
		for _, text := range texts {
			var id randflake.ID
			want, wantErr := randflake.Parse(prefix.ReplaceAllString(text, ""))
			if err := s.row(query, text).Scan(&id); (err != nil) != (wantErr != nil) || id != want {
				t.Errorf("%q is %d, %v; the library says %d, %v", text, int64(id), err, int64(want), wantErr)
			}
		}
		var null sql.Null[randflake.ID]
		if err := s.row(query, nil).Scan(&null); err != nil || null.Valid {
			t.Errorf("NULL is %v, %v", null, err)
		}
	}
}
