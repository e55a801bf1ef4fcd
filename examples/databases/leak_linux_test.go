package databases

import (
	"context"
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
