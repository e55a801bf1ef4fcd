package dialect

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// A maker is a database with a column whose default are IDs, and a table test_clock, which says how
// far its clock is ahead.
type maker struct {
	*sql.DB
	name   string
	secret randflake.Secret
	cipher *randflake.Cipher
	key    string // the column with it
	series string // numbers from 1 to %d
	again  string // brings the cursor to the clock's second, where a call doesn't
	copies func(t *testing.T, from, to string)
	rotate func(t *testing.T, m *maker, secret string, node uint32) error // has the text of a file take the place of the secret
	open   func(t *testing.T, name, statements string) *sql.DB
	server interface {
		Kill() error
		Start() error
	}
}

// nothing is a statement that does nothing.
const nothing = "SELECT 1"

// onMakers runs a test on a new database of each server. MariaDB's clock stands still unless the test
// moves it, as its cursor follows the clock only with an event, or m.again, within ten seconds.
func onMakers(t *testing.T, test func(t *testing.T, m *maker)) {
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newPostgres(t)) })
	t.Run("MariaDB", func(t *testing.T) { test(t, newMariaDB(t, fmt.Sprint(time.Now().Unix()))) })
}

const (
	clockTable = "CREATE TABLE test_clock (ahead bigint); INSERT INTO test_clock VALUES (0);\n"
	ahead      = "(SELECT ahead FROM test_clock)"
)

func newPostgres(t *testing.T) *maker {
	m := newMaker(&maker{key: "secret", series: "generate_series(1, %d)", again: nothing, copies: copyPostgres,
		rotate: rotatePostgres, open: openPostgres, server: postgresServer})
	functions := strings.Replace(Default("postgres", randflake.MaxNode), "clock_timestamp()", "clock_timestamp() + interval '1 s' * "+ahead, 1)
	m.DB = m.open(t, m.name, clockTable+Text("postgres")+functions+"INSERT INTO randflake_default (secret) VALUES ('"+m.secret.Hex()+"');"+
		"CREATE TABLE ids (id bigint DEFAULT randflake_next(), item int)")
	return m
}

// runningClock is the time that MariaDB's functions ask for.
const runningClock = "UNIX_TIMESTAMP()"

const idsInMariaDB = "CREATE TABLE ids (id BIGINT, item INT);" +
	"CREATE TRIGGER row_ids BEFORE INSERT ON ids FOR EACH ROW SET NEW.id = IF(NEW.id <> 0, NEW.id, randflake_next())"

// newMariaDB returns a maker with a clock, an expression in seconds.
func newMariaDB(t *testing.T, clock string) *maker {
	m := newMaker(&maker{key: "round_keys", series: "seq_1_to_%d", again: "CALL randflake_raise()",
		copies: copyMariaDB, rotate: rotateMariaDB, open: openMariaDB, server: mariaDB})
	functions := strings.ReplaceAll(Default("mysql", randflake.MaxNode), runningClock, ahead+" + "+clock)
	if clock != runningClock {
		sinceItBegan := " + UNIX_TIMESTAMP(SYSDATE()) - UNIX_TIMESTAMP(NOW())" // the statement
		functions = strings.Replace(functions, sinceItBegan, "", 1)
	}
	m.DB = m.open(t, m.name, clockTable+Text("mysql")+functions+"INSERT INTO randflake_default (round_keys) VALUES (randflake_key_of('"+m.secret.Hex()+"'));"+
		idsInMariaDB)
	m.do(t, m.again)
	return m
}

func newMaker(m *maker) *maker {
	m.name = fmt.Sprintf("made%d", rand.Uint32())
	m.secret = randflake.NewSecret()
	m.cipher = randflake.NewCipher(m.secret)
	return m
}

func openPostgres(t *testing.T, name, statements string) *sql.DB {
	address, err := url.Parse(postgresServer.URL())
	must(t, err)
	server, err := sql.Open("pgx", address.String())
	must(t, err)
	defer server.Close()
	require.Done(t)(server.Exec("CREATE DATABASE " + name))
	address.Path = name
	db, err := sql.Open("pgx", address.String())
	must(t, err)
	t.Cleanup(func() { db.Close() })
	require.Done(t)(db.Exec(statements))
	return db
}

func openMariaDB(t *testing.T, name, statements string) *sql.DB {
	require.Done(t)(mariaDB.Do("CREATE DATABASE " + name + "; USE " + name + ";\n" + statements))
	config := configOf(t, mariaDB)
	config.DBName = name
	db, err := sql.Open("mysql", config.FormatDSN())
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// configOf returns how the driver connects to a MariaDB.
func configOf(t *testing.T, server *servers.MySQL) *mysql.Config {
	address, err := url.Parse(server.URL())
	must(t, err)
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User = "tcp", address.Host, address.Path[1:], address.User.Username()
	config.Passwd, _ = address.User.Password()
	return config
}

func copyPostgres(t *testing.T, from, to string) {
	url := postgresServer.URL()
	shell(t, `pg_dump "$1" | psql -qv ON_ERROR_STOP=1 "$2" >/dev/null`,
		strings.Replace(url, "/postgres?", "/"+from+"?", 1), strings.Replace(url, "/postgres?", "/"+to+"?", 1))
}

func copyMariaDB(t *testing.T, from, to string) {
	config := configOf(t, mariaDB)
	host, port, _ := strings.Cut(config.Addr, ":")
	t.Setenv("MYSQL_PWD", config.Passwd)
	shell(t, `set -- "$1" "$2" --no-defaults --user=root --host="$3" --port="$4"
		mariadb-dump "${@:3}" --routines --events "$1" | mariadb "${@:3}" "$2"`, from, to, host, port)
}

func shell(t *testing.T, script string, args ...string) {
	t.Helper()
	out, err := exec.Command("bash", append([]string{"-eo", "pipefail", "-c", script, "bash"}, args...)...).CombinedOutput()
	require.Must(t, err == nil, "%s: %v: %s", script, err, out)
}

func (m *maker) do(t *testing.T, statement string) {
	t.Helper()
	require.Done(t)(m.Exec(statement))
}

// ids returns what a query of IDs answers, some of them before an error.
func (m *maker) ids(query string, args ...any) (ids []randflake.ID, err error) {
	rows, err := m.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id randflake.ID
		if err := rows.Scan(&id); err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// next has n IDs made by one statement.
func (m *maker) next(n int) ([]randflake.ID, error) {
	return m.ids("SELECT randflake_next() FROM " + fmt.Sprintf(m.series, n) + " AS n")
}

// setClock sets how many seconds the clock is ahead.
func (m *maker) setClock(t *testing.T, ahead int) {
	t.Helper()
	m.do(t, fmt.Sprintf("UPDATE test_clock SET ahead = %d", ahead))
	m.do(t, m.again)
}

// wantUnique wants no ID twice, and at least one.
func wantUnique(t *testing.T, ids []randflake.ID) {
	t.Helper()
	slices.Sort(ids)
	n := len(slices.Compact(slices.Clone(ids)))
	require.That(t, n == len(ids) && n != 0, "%d of %d IDs are repeats", len(ids)-n, len(ids))
}

// together runs work in 8 goroutines, and returns all that they made.
func together(work func(client int) []randflake.ID) (all []randflake.ID) {
	var wg sync.WaitGroup
	made := make([][]randflake.ID, 8)
	for client := range made {
		wg.Go(func() { made[client] = work(client) })
	}
	wg.Wait()
	return slices.Concat(made...)
}

// TestDefault: clients have the database make IDs, while a program makes some under a node that its
// space leases.
func TestDefault(t *testing.T) {
	onMakers(t, func(t *testing.T, m *maker) {
		if m.again != nothing {
			m = newMariaDB(t, runningClock)
		}
		n := 1_000_000
		if testing.Short() {
			n = 20_000
		}
		if m.again != nothing {
			n /= 5 // it is slower by as much
			require.Done(t)(mariaDB.Do("SET GLOBAL event_scheduler = ON"))
			defer mariaDB.Do("SET GLOBAL event_scheduler = OFF")
		}
		space, err := lease.Create(t.Context(), leasetest.NewMemory().Connect(),
			lease.Config{NeverUsed: true, Limits: lease.Limits{Nodes: randflake.MaxNode}})
		must(t, err)
		keeper, err := lease.Keep(t.Context(), space, m.secret)
		must(t, err)
		defer keeper.Close()
		begin := time.Now()
		app := make([]randflake.ID, n)
		together(func(client int) (ids []randflake.ID) {
			for i := range app {
				if client > 0 || t.Failed() {
					break
				}
				app[i], err = keeper.Generator().Wait(t.Context())
				if err != nil {
					t.Error(err)
				}
			}
			for range n / 8 / 500 {
				_, err := m.Exec("INSERT INTO ids (item) SELECT 1 FROM " + fmt.Sprintf(m.series, 500) + " AS n")
				if err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		stored, err := m.ids("SELECT id FROM ids")
		must(t, err)
		require.Equal(t, len(stored), n/8/500*8*500, "IDs are stored")
		for _, id := range stored {
			f := m.cipher.Inspect(id)
			require.Must(t, f.Node == randflake.MaxNode && !f.Time.Before(begin.Add(-11*time.Second)) && !f.Time.After(time.Now()),
				"%v is %+v", id, f)
		}
		wantUnique(t, append(app, stored...))
	})
}

// TestDefaultClock: the clock jumps by hours while clients call. IDs are refused while it is
// behind, and none comes twice.
func TestDefaultClock(t *testing.T) {
	jumps := 200
	if testing.Short() {
		jumps = 20
	}
	onMakers(t, func(t *testing.T, m *maker) {
		_, err := m.next(1)
		must(t, err)
		m.setClock(t, -3600)
		_, err = m.next(1)
		require.That(t, err != nil && strings.Contains(err.Error(), "behind the newest ID"),
			"an hour behind: %v", err)
		ahead, newest, refused := 0, 0, 0
		var all []randflake.ID
		for range jumps {
			m.setClock(t, ahead)
			var mu sync.Mutex
			all = append(all, together(func(int) (ids []randflake.ID) {
				for range 3 {
					more, err := m.next(20)
					if err != nil && ahead >= newest {
						t.Errorf("%d s ahead: %v", ahead, err)
					}
					if err != nil {
						mu.Lock()
						refused++
						mu.Unlock()
					}
					ids = append(ids, more...)
				}
				return ids
			})...)
			newest = max(newest, ahead)
			ahead += rand.IntN(8*3600) - 2*3600
		}
		require.That(t, refused != 0, "no call was refused")
		wantUnique(t, all)

		if m.again != nothing { // the caller's time doesn't matter to MariaDB
			m = newMariaDB(t, runningClock)
			_, err = mariaDB.Do("USE " + m.name + "; CALL randflake_raise(); SET timestamp = 2000000000; SELECT randflake_next()")
			must(t, err)
		}
	})
}

// TestDefaultEvent: at once after a start of MariaDB, INSERTs wait until its event has run. They are
// refused where it can't run.
func TestDefaultEvent(t *testing.T) {
	server, err := servers.StartMySQL(t.TempDir(), "--event-scheduler=ON")
	must(t, err)
	defer server.Kill()
	m := newMaker(&maker{})
	_, err = server.Do(Text("mysql") + Default("mysql", 0) + "INSERT INTO randflake_default (round_keys) VALUES (randflake_key_of('" + m.secret.Hex() + "'));" + idsInMariaDB)
	must(t, err)
	m.DB, err = sql.Open("mysql", configOf(t, server).FormatDSN())
	must(t, err)
	defer m.Close()

	const forgetTime = "ALTER SEQUENCE randflake_cursor RESTART 0"
	early := false // the first INSERTs were before the event
	for starts := 0; !early && starts < 10; starts++ {
		m.do(t, "SET GLOBAL event_scheduler = OFF")
		m.do(t, forgetTime)
		m.SetMaxIdleConns(0)
		must(t, server.Stop())
		must(t, server.Start())
		m.SetMaxIdleConns(8)
		var place int64
		must(t, m.QueryRow("SELECT NEXTVAL(randflake_cursor)").Scan(&place))
		wantUnique(t, together(func(int) []randflake.ID {
			ids, err := m.ids("INSERT INTO ids (item) VALUES (1), (2) RETURNING id")
			require.That(t, err == nil, "after a start: %v", err)
			return ids
		}))
		early = place < 1<<17
	}
	require.That(t, early, "the event always ran before the first INSERTs")

	for _, stop := range []string{"ALTER EVENT randflake_second DISABLE", "SET GLOBAL event_scheduler = OFF"} {
		m.do(t, stop)
		m.do(t, forgetTime)
		_, err := m.ids("SELECT randflake_next()")
		require.ErrorSays(t, err, "is event_scheduler ON, and the event ENABLED?", "after %s", stop)
	}
}

// TestDefaultRate: clients that make more IDs than a second has are slowed down before they are refused.
func TestDefaultRate(t *testing.T) {
	m := newPostgres(t)
	m.do(t, "SELECT setval('randflake_cursor', (floor(extract(epoch FROM clock_timestamp()))::bigint - 1730000000 + 11 << 17) - 100)")
	wantUnique(t, together(func(int) []randflake.ID {
		ids, err := m.next(200)
		if err != nil {
			t.Error(err)
		}
		return ids
	}))
}

// TestDefaultCrash: a server is killed while clients insert.
func TestDefaultCrash(t *testing.T) {
	onMakers(t, func(t *testing.T, m *maker) {
		insert := func(n int) []randflake.ID {
			return together(func(int) (ids []randflake.ID) {
				for range n {
					one, err := m.ids("INSERT INTO ids (item) VALUES (1) RETURNING id")
					if err != nil {
						break
					}
					ids = append(ids, one...)
				}
				return ids
			})
		}
		made := make(chan []randflake.ID, 1)
		go func() { made <- insert(1_000_000) }()
		for n := 0; n < 500; {
			require.Must(t, len(made) == 0, "%d IDs before the crash, want 500: inserts failed", n)
			must(t, m.QueryRow("SELECT count(*) FROM ids").Scan(&n))
		}
		must(t, m.server.Kill())
		before := <-made
		m.SetMaxIdleConns(0) // those to the server that crashed: their next statement may still read its last words
		m.SetMaxIdleConns(8)
		must(t, m.server.Start())
		m.do(t, m.again)
		after := insert(100)
		require.Equal(t, len(after), 800, "IDs after the crash")
		wantUnique(t, append(before, after...))
		stored, err := m.ids("SELECT id FROM ids")
		must(t, err)
		wantUnique(t, stored)
	})
}

// TestDefaultCopies: a dump goes on in another database where it was, under a node that is to be
// changed, and in its own one after eleven seconds.
func TestDefaultCopies(t *testing.T) {
	onMakers(t, func(t *testing.T, m *maker) {
		all, err := m.next(1000)
		must(t, err)
		other := *m
		other.DB = m.open(t, m.name+"_copy", nothing)
		m.copies(t, m.name, m.name+"_copy")

		other.do(t, fmt.Sprintf("UPDATE randflake_default SET node = %d", randflake.MaxNode-1))
		for range 100 {
			copied, err := other.next(10)
			must(t, err)
			if f := m.cipher.Inspect(copied[0]); f.Node != randflake.MaxNode-1 {
				t.Fatalf("after the node was changed: %+v", f)
			}
			ours, err := m.next(10)
			must(t, err)
			all = append(append(all, copied...), ours...)
		}

		restored := *m
		restored.DB = m.open(t, m.name+"_restored", nothing)
		m.copies(t, m.name, m.name+"_restored")
		ours, err := m.next(1000) // which the dump doesn't know
		must(t, err)
		restored.setClock(t, 11)
		more, err := restored.next(1000)
		must(t, err)
		f := m.cipher.Inspect(more[0])
		require.That(t, f.Node == randflake.MaxNode, "restored: %+v", f)
		wantUnique(t, slices.Concat(all, ours, more))
	})
}

// TestDefaultRefuses: there is one whole key, of a node that there is, and no refusal shows it.
func TestDefaultRefuses(t *testing.T) {
	onMakers(t, func(t *testing.T, m *maker) {
		for _, statement := range []string{
			"INSERT INTO randflake_default (one_row, " + m.key + ") SELECT FALSE, " + m.key + " FROM randflake_default",
			"INSERT INTO randflake_default (" + m.key + ") SELECT " + m.key + " FROM randflake_default",
			"UPDATE randflake_default SET one_row = FALSE",
			"UPDATE randflake_default SET one_row = NULL",
			"UPDATE randflake_default SET node = 131072",
			"UPDATE randflake_default SET node = -1",
			"UPDATE randflake_default SET node = NULL",
			"UPDATE randflake_default SET " + m.key + " = SUBSTR(" + m.key + ", 2)",
			"UPDATE randflake_default SET " + m.key + " = NULL",
		} {
			_, err := m.Exec(statement)
			require.That(t, err != nil, "%s succeeds", statement)
			m.wantHidden(t, statement, err)
		}
		_, err := m.next(1)
		must(t, err)
		m.do(t, "TRUNCATE TABLE randflake_default")
		_, err = m.next(1)
		if err == nil || !strings.Contains(err.Error(), "no randflake") && !strings.Contains(err.Error(), "no secret") {
			t.Errorf("without a key: %v", err)
		}
	})
}

// wantHidden wants that an error, and what PostgreSQL logs of it, does not have the secret, nor half
// of it.
func (m *maker) wantHidden(t *testing.T, statement string, err error) {
	t.Helper()
	said := fmt.Sprint(err)
	var logged *pgconn.PgError
	if errors.As(err, &logged) {
		said += logged.Detail + logged.Where
	}
	require.Omits(t, said, m.secret.Hex()[:16], "%s shows the secret", statement)
}

// TestDefaultRotation: half a secret, one in another form, or none, does not take the place of a
// secret. It is refused without a word of it, and IDs go on as before.
func TestDefaultRotation(t *testing.T) {
	onMakers(t, func(t *testing.T, m *maker) {
		wantNext := func(made *maker, node uint32) {
			t.Helper()
			ids, err := m.next(1)
			must(t, err)
			if f := made.cipher.Inspect(ids[0]); f.Node != node || time.Since(f.Time).Abs() > time.Hour {
				t.Errorf("%v is %+v, want node %d", ids[0], f, node)
			}
		}
		rotated := *m
		rotated.secret = randflake.NewSecret()
		rotated.cipher = randflake.NewCipher(rotated.secret)
		hex := rotated.secret.Hex()
		for _, text := range []string{"", "\n", "\\N\n", hex[:31] + "\n", hex + " \n", " " + hex + "\n", "\"" + hex + "\"\n", hex + "==\n"} {
			err := m.rotate(t, m, text, 7)
			nothingRead := text == "" && m.again != nothing // then MariaDB's statement has no row to refuse
			if !nothingRead && (err == nil || !strings.Contains(err.Error(), "32 hexadecimal digits")) {
				t.Errorf("with the secret %q: %v", text, err)
			}
			rotated.wantHidden(t, text, err)
			wantNext(m, randflake.MaxNode)
		}
		must(t, m.rotate(t, m, hex+"\n", 7))
		wantNext(&rotated, 7)
	})
}

// rotatePostgres does what docs/databases.md says, as psql does: it goes on after an error.
func rotatePostgres(t *testing.T, m *maker, secret string, node uint32) error {
	session, err := m.Conn(t.Context())
	must(t, err)
	defer session.Close()
	var first error
	do := func(statement string) {
		_, err := session.ExecContext(t.Context(), statement)
		first = cmp.Or(first, err)
	}
	do("BEGIN")
	do("DELETE FROM randflake_default")
	first = cmp.Or(first, copySecret(t, session, secret))
	do(fmt.Sprintf("UPDATE randflake_default SET node = %d", node))
	do("COMMIT")
	return first
}

func copySecret(t *testing.T, session *sql.Conn, text string) error {
	return session.Raw(func(driver any) error {
		connection := driver.(*stdlib.Conn).Conn().PgConn()
		_, err := connection.CopyFrom(t.Context(), strings.NewReader(text), "COPY randflake_default (secret) FROM STDIN")
		return err
	})
}

// TestDefaultSecret: PostgreSQL refuses a second secret, and a first one in another form, without a
// word of it. It takes one from a file of Windows.
func TestDefaultSecret(t *testing.T) {
	m := newPostgres(t)
	session, err := m.Conn(t.Context())
	must(t, err)
	defer session.Close()
	err = copySecret(t, session, m.secret.Hex()+"\n")
	require.That(t, err != nil, "there are two secrets")
	m.wantHidden(t, "a second secret", err)
	m.do(t, "TRUNCATE TABLE randflake_default")
	err = copySecret(t, session, m.secret.Hex()+"==\n")
	require.That(t, err != nil, "a secret in another form is taken")
	m.wantHidden(t, "a secret in another form", err)
	must(t, copySecret(t, session, m.secret.Hex()+"\r\n"))
	require.Done(t)(m.next(1))
}

// rotateMariaDB runs the statement of the output.
func rotateMariaDB(t *testing.T, m *maker, secret string, node uint32) error {
	_, statement, _ := strings.Cut(Default("mysql", node), "--   LOAD DATA ")
	statement, _, _ = strings.Cut(statement, ";")
	mysql.RegisterReaderHandler(m.name, func() io.Reader { return strings.NewReader(secret) })
	defer mysql.DeregisterReaderHandler(m.name)
	_, err := m.Exec("LOAD DATA " + strings.Replace(statement, "'secret'", "'Reader::"+m.name+"'", 1))
	return err
}

// evil is what an unprivileged role creates beside the functions, for operands of all types that
// are almost those of pg_catalog.
const evil = `CREATE FUNCTION own.nextval(text) RETURNS bigint LANGUAGE sql RETURN 42;
	CREATE FUNCTION own.format(text, name) RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE ''evil''; END';
	CREATE FUNCTION own.setval(text, bigint, boolean) RETURNS bigint LANGUAGE sql RETURN 42;
	DO $$
	DECLARE
	  a text; b text; operator text;
	BEGIN
	  FOREACH a IN ARRAY '{smallint,int,bigint,numeric,oid,text,name}'::text[] LOOP
	    FOREACH b IN ARRAY '{smallint,int,bigint,numeric,oid,text,name}'::text[] LOOP
	      EXECUTE format('CREATE FUNCTION own.evil(a %s, b %s) RETURNS bigint LANGUAGE plpgsql AS ''BEGIN RAISE ''''evil''''; END''', a, b);
	      FOREACH operator IN ARRAY '{+,-,*,/,&,|,#,<<,>>,=,<,>,<=,>=,~}'::text[] LOOP
	        EXECUTE format('CREATE OPERATOR own.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = own.evil)', operator, a, b);
	      END LOOP;
	    END LOOP;
	  END LOOP;
	END
	$$;`

// roleOnce makes a role unless the server has it from another test.
func roleOnce(name string) string {
	return "DO 'BEGIN CREATE ROLE " + name + "; EXCEPTION WHEN duplicate_object THEN END';"
}

// TestDefaultOwner: who inserts rows in PostgreSQL can't read the key nor lower the cursor, even
// where owners give everything away, and whose functions come first in the caller's search_path, or
// in this schema fit best, doesn't matter.
func TestDefaultOwner(t *testing.T) {
	m := newPostgres(t)
	m.SetMaxOpenConns(1)
	m.do(t, roleOnce("app")+`CREATE SCHEMA own; CREATE SCHEMA evil AUTHORIZATION app; SET search_path = own;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO app; ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO PUBLIC; GRANT ALL ON SCHEMA own TO app; CREATE PUBLICATION everything FOR ALL TABLES; SET ROLE app;`+evil+`RESET ROLE`)
	m.do(t, Text("postgres")+Default("postgres", 7)+
		"; CREATE TABLE ids (id bigint DEFAULT randflake_next(), item int); INSERT INTO randflake_default (secret) SELECT secret FROM public.randflake_default")
	m.do(t, "SET search_path = pg_catalog; UPDATE own.randflake_default SET node = 8")
	m.do(t, `SET ROLE app; CREATE FUNCTION evil.randflake_mask(id bigint, key bigint[]) RETURNS bigint LANGUAGE sql RETURN 42;
		SET search_path = evil, pg_catalog`)
	m.do(t, "SELECT own.randflake_text(1), own.randflake_unsigned(-1), own.randflake_time(1, key), own.randflake_node(1, key), own.randflake_sequence(1, key) FROM own.randflake_key_of(repeat('0', 32)) AS key")
	made, err := m.ids("INSERT INTO own.ids (item) VALUES (1) RETURNING id")
	must(t, err)
	if f := m.cipher.Inspect(made[0]); f.Node != 8 || time.Since(f.Time).Abs() > time.Hour {
		t.Errorf("%v is %+v", made[0], f)
	}
	for _, statement := range []string{
		"SELECT secret FROM own.randflake_default",
		"UPDATE own.randflake_default SET node = 9",
		"TRUNCATE own.randflake_default",
		"DO 'BEGIN LOCK TABLE own.randflake_default IN ROW SHARE MODE; END'",
		"SELECT setval('own.randflake_cursor', 1)",
		"SELECT last_value FROM own.randflake_cursor",
	} {
		require.Says(t, "permission denied", "%s", statement)(m.Exec(statement))
	}
	m.do(t, "RESET ROLE; GRANT ALL ON ALL TABLES IN SCHEMA own TO app; SET ROLE app")
	var seen int
	must(t, m.QueryRow("SELECT pg_catalog.count(*) FROM own.randflake_default").Scan(&seen))
	_, err = m.Exec("INSERT INTO own.ids (item) VALUES (2)")
	require.That(t, seen == 0 && err == nil,
		"with all tables granted: %d rows with the key are seen, and %v", seen, err)
}

// TestDefaultRenamed: in a schema that was renamed, randflake_next says what to do, and runs nothing
// that others have put into a schema of the old name. The secret can be replaced there.
func TestDefaultRenamed(t *testing.T) {
	m := newPostgres(t)
	m.SetMaxOpenConns(1)
	const other = "other"
	m.do(t, roleOnce(other)+"GRANT CREATE ON DATABASE "+m.name+" TO "+other+"; CREATE SCHEMA first; SET search_path = first")
	m.do(t, Text("postgres")+Default("postgres", 7)+"; INSERT INTO randflake_default (secret) SELECT secret FROM public.randflake_default")
	m.do(t, "ALTER SCHEMA first RENAME TO second; GRANT USAGE ON SCHEMA second TO "+other+"; SET search_path = second")
	for _, planted := range []string{
		"SET ROLE " + other,
		"CREATE SCHEMA first CREATE TABLE randflake_default (one_row boolean, node int, secret text, round_keys bigint[])",
		`CREATE FUNCTION first.trap() RETURNS bigint[] LANGUAGE plpgsql AS 'BEGIN RAISE ''trap''; END';
			DROP TABLE first.randflake_default;
			CREATE VIEW first.randflake_default AS SELECT true AS one_row, 7 AS node, '' AS secret, first.trap() AS round_keys`,
	} {
		m.do(t, planted)
		_, err := m.Exec("SELECT second.randflake_next()")
		require.That(t, err != nil && strings.Contains(err.Error(), "was the schema renamed? ALTER FUNCTION"),
			"after %s: %v", planted, err)
	}
	m.do(t, "RESET ROLE; UPDATE second.randflake_default SET secret = upper(secret)")
	m.do(t, "ALTER FUNCTION second.randflake_next() SET search_path = pg_catalog, second, pg_temp")
	made, err := m.ids("SELECT second.randflake_next()")
	must(t, err)
	if f := m.cipher.Inspect(made[0]); f.Node != 7 {
		t.Errorf("%v is %+v", made[0], f)
	}
}

// TestTextAgain: functions that are there already, as before a default is wanted, are replaced by
// their owner, and not where another role could change them later.
func TestTextAgain(t *testing.T) {
	m := newPostgres(t)
	m.do(t, Text("postgres"))
	_, err := m.next(1)
	must(t, err)
	m.do(t, roleOnce("stranger")+"ALTER FUNCTION randflake_unsigned(bigint) OWNER TO stranger")
	_, err = m.Exec(Text("postgres"))
	require.ErrorSays(t, err, "randflake_unsigned in this schema is of role stranger", "over a stranger's function")
}

// TestDefaultLocks: under the lock of nextval there is no setval, and under that of setval no
// nextval. A session whose call is cancelled there keeps no lock, nor does a transaction.
func TestDefaultLocks(t *testing.T) {
	m := newPostgres(t)
	session, err := m.Conn(t.Context())
	must(t, err)
	defer session.Close()
	var pid int
	must(t, session.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))
	clock := 100 // so that there is a setval
	for _, hold := range []string{
		"LOCK TABLE randflake_default IN ROW SHARE MODE", // setval waits for it
		"LOCK TABLE randflake_default IN EXCLUSIVE MODE", // nextval waits for it
		"ALTER SEQUENCE randflake_cursor CACHE 1",        // nextval waits for it, under its lock
	} {
		m.setClock(t, clock)
		clock = 95 // so that there is none
		tx, err := m.Begin()
		must(t, err)
		require.Done(t)(tx.Exec(hold))
		called := make(chan error, 1)
		go func() {
			_, err := session.ExecContext(t.Context(), "SELECT randflake_next()")
			called <- err
		}()
		for waits := false; !waits && len(called) == 0; {
			must(t, m.QueryRow("SELECT coalesce(wait_event_type = 'Lock', false) FROM pg_stat_activity WHERE pid = $1", pid).Scan(&waits))
		}
		m.do(t, fmt.Sprintf("SELECT pg_cancel_backend(%d)", pid))
		require.ErrorSays(t, <-called, "57014", "%s", hold)
		must(t, tx.Rollback())
		var locks int
		_, err = session.ExecContext(t.Context(), "BEGIN; SELECT randflake_next(); SAVEPOINT before_a_failure")
		must(t, err)
		_, err = session.ExecContext(t.Context(), "SELECT randflake_next() / 0")
		require.That(t, err != nil, "a division by zero succeeds")
		must(t, m.QueryRow("SELECT count(*) FROM pg_locks WHERE relation = 'randflake_default'::regclass AND mode <> 'AccessShareLock' AND pid = $1", pid).Scan(&locks))
		require.Must(t, locks == 0, "%s: %d locks are left in the transaction", hold, locks)
		require.Done(t)(session.ExecContext(t.Context(), "ROLLBACK"))
	}
}
