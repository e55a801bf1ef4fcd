package databases

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/servers"
)

// shows reports what of a key text has: its secret in hexadecimal or in bytes, or a round key in decimal.
func shows(text string, secret randflake.Secret, roundKeys string) (found []string) {
	raw := string(fromHex(secret.Hex()))
	for _, part := range append(strings.FieldsFunc(roundKeys, func(r rune) bool { return r < '0' || r > '9' }), secret.Hex(), raw) {
		if len(part) > 8 && strings.Trim(part, "0") != "" && strings.Contains(strings.ToLower(text), strings.ToLower(part)) {
			found = append(found, part)
		}
	}
	return found
}

func fromHex(digits string) (b []byte) {
	fmt.Sscanf(digits, "%x", &b)
	return b
}

// PostgreSQL logs and explains all that it can.
func TestKeyStaysHiddenInPostgreSQL(t *testing.T) {
	server, err := servers.StartPostgres(filepath.Join(serversDir, "verbose"), map[string]string{
		"shared_preload_libraries": "pg_stat_statements,auto_explain", "pg_stat_statements.track": "all", "log_statement": "all", "log_min_duration_statement": "0",
		"log_connections": "on", "log_duration": "on", "log_parameter_max_length_on_error": "-1", "auto_explain.log_min_duration": "0", "auto_explain.log_verbose": "on",
		"auto_explain.log_analyze": "on", "auto_explain.log_nested_statements": "on", "log_error_verbosity": "verbose", "log_min_messages": "debug1", "debug_print_plan": "on",
	})
	must(t, err)
	defer server.Kill()
	config, err := pgx.ParseConfig(server.URL())
	must(t, err)
	admin, err := pgx.ConnectConfig(t.Context(), config)
	must(t, err)
	defer admin.Close(context.Background())
	_, err = admin.Exec(t.Context(), "CREATE EXTENSION pg_stat_statements;"+functions(t, "postgres")+`CREATE SEQUENCE numbers;
		CREATE TABLE shown (id bigint PRIMARY KEY DEFAULT randflake_mask(nextval('numbers')), item text)`)
	must(t, err)
	for way, hidden := range map[string]bool{"copy": true, "startup": true, "literal": false, "parameter": false} {
		secret := randflake.NewSecret()
		if way == "startup" {
			config.RuntimeParams = map[string]string{"randflake.secret": secret.Hex()}
		}
		conn, err := pgx.ConnectConfig(t.Context(), config)
		must(t, err)
		config.RuntimeParams = nil
		switch way {
		case "copy":
			err = useSecret(t.Context(), conn, secret)
		case "startup":
			_, err = conn.Exec(t.Context(), "SELECT randflake_use(current_setting('randflake.secret'))")
		case "literal":
			_, err = conn.Exec(t.Context(), "SELECT randflake_use('"+secret.Hex()+"')")
		case "parameter":
			_, err = conn.Exec(t.Context(), "SELECT randflake_use($1)", secret.Hex())
		}
		must(t, err)
		var seen strings.Builder
		for _, statement := range []string{
			"INSERT INTO shown (item) SELECT 'x' FROM generate_series(1, 50)", "SELECT randflake_time(id), randflake_node(id, (SELECT randflake_key())) FROM shown",
			"SELECT * FROM shown WHERE id = randflake_mask(1)", "UPDATE shown SET item = 'y' WHERE randflake_unmask(id) < 10",
		} {
			seen.WriteString(answer(t, conn, "EXPLAIN (ANALYZE, VERBOSE) "+statement))
			_, err := conn.Exec(t.Context(), statement)
			must(t, err)
		}
		// Errors don't quote it either.
		for _, statement := range []string{"SELECT 1 / (randflake_mask(0, randflake_keys(set_config('randflake.key', current_setting('randflake.key'), false))) * 0)", "INSERT INTO shown SELECT id FROM shown"} {
			_, err := conn.Exec(t.Context(), statement)
			if err == nil {
				t.Errorf("%s: no error", statement)
			}
			fmt.Fprint(&seen, err)
		}
		roundKeys := answer(t, conn, "SELECT current_setting('randflake.key')")
		conn.Close(t.Context())
		seen.WriteString(answer(t, admin, "SELECT coalesce(query, '') FROM pg_stat_statements"))
		seen.WriteString(answer(t, admin, "SELECT prosrc FROM pg_proc WHERE proname ~ 'randflake' UNION ALL SELECT adbin::text FROM pg_attrdef UNION ALL SELECT coalesce(query, '') FROM pg_stat_activity"))
		log, err := os.ReadFile(server.Log())
		must(t, err)
		if found := shows(seen.String()+string(log), secret, roundKeys); (len(found) == 0) != hidden {
			t.Errorf("%s: found %d parts: %.40q", way, len(found), found)
		}
		if !strings.Contains(string(log), "SELECT randflake_time(id)") || !strings.Contains(seen.String(), "randflake_unmask(id") {
			t.Error("what is searched has no statements")
		}
	}
}

// MariaDB logs all that it can.
func TestKeyStaysHiddenInMariaDB(t *testing.T) {
	for _, format := range []string{"ROW", "MIXED"} {
		server, err := servers.StartMySQL(filepath.Join(serversDir, "verbose"+format), "--general-log=1", "--general-log-file=general.log", "--slow-query-log=1", "--slow-query-log-file=slow.log",
			"--long-query-time=0", "--log-slow-verbosity=query_plan,explain,engine", "--log-bin=binary", "--binlog-format="+format, "--performance-schema=1",
			"--performance-schema-consumer-events-statements-history-long=1", "--performance-schema-consumer-events-statements-history=1", "--log-bin-trust-function-creators=1")
		must(t, err)
		_, err = server.Do(functions(t, "mysql") + "CREATE TABLE shown (id BIGINT PRIMARY KEY, item BIGINT)")
		must(t, err)
		db := openMySQL(t, server, false)
		for way, hidden := range map[string]bool{"load": format == "ROW", "parameter": false} {
			secret := randflake.NewSecret()
			conn, err := db.Conn(t.Context())
			must(t, err)
			if way == "load" {
				err = useSecretInMariaDB(t.Context(), conn, secret)
			} else {
				_, err = conn.ExecContext(t.Context(), "SET @randflake_key = randflake_keys(?)", secret.Hex())
			}
			must(t, err)
			var seen strings.Builder
			for _, statement := range []string{
				"INSERT INTO shown SELECT randflake_mask(MAX(item) + 1, @randflake_key), MAX(item) + 1 FROM (SELECT 0 AS item UNION ALL SELECT item FROM shown) AS s",
				"SELECT randflake_time(id, @randflake_key) FROM shown WHERE randflake_node(id, @randflake_key) > 0", "SELECT * FROM shown WHERE id = randflake_mask(1, @randflake_key)",
				"UPDATE shown SET item = item + randflake_node(id, @randflake_key) - randflake_node(id, @randflake_key)",
			} {
				for _, prefix := range []string{"EXPLAIN FORMAT=JSON ", "ANALYZE FORMAT=JSON ", "EXPLAIN EXTENDED "} {
					seen.WriteString(dump(t, conn, prefix+statement) + dump(t, conn, "SHOW WARNINGS"))
				}
			}
			seen.WriteString(dump(t, conn, "SELECT sql_text, digest_text FROM performance_schema.events_statements_history_long") + dump(t, conn, "SHOW FULL PROCESSLIST"))
			var roundKeys string
			must(t, conn.QueryRowContext(t.Context(), "SELECT @randflake_key").Scan(&roundKeys))
			conn.Close()
			var parts []string
			for i := 0; i < len(roundKeys); i += 20 {
				parts = append(parts, strings.TrimLeft(roundKeys[i:i+20], "0"))
			}
			for _, pattern := range []string{"*.log", "binary.0*"} {
				files, err := filepath.Glob(filepath.Join(server.Data(), pattern))
				if must(t, err); len(files) == 0 {
					t.Errorf("no file %s", pattern)
				}
				for _, name := range append(files, server.Log()) {
					content, err := os.ReadFile(name)
					must(t, err)
					seen.Write(content)
				}
			}
			if found := shows(seen.String(), secret, strings.Join(parts, ",")); (len(found) == 0) != hidden {
				t.Errorf("%s, %s: found %d parts: %.40q", format, way, len(found), found)
			}
		}
		must(t, server.Kill())
	}
}

// dump returns the rows of a query.
func dump(t *testing.T, conn *sql.Conn, query string) string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var all strings.Builder
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(sql.NullString)
		}
		must(t, rows.Scan(row...))
		for _, value := range row {
			all.WriteString(value.(*sql.NullString).String + "\n")
		}
	}
	must(t, rows.Err())
	return all.String()
}
