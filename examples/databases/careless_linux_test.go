package databases

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
)

// Where a schema that comes first in the search_path has functions and operators that fit better, the functions call none.
func TestHostileSchemaInPostgreSQL(t *testing.T) {
	conn := connectPostgres(t)
	_, err := conn.Exec(t.Context(), `CREATE DATABASE hostile`)
	must(t, err)
	config := conn.Config()
	config.Database = "hostile"
	if conn, err = pgx.ConnectConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())

	// The command of the page makes all functions or none: a name that another role took stops it.
	psql := exec.CommandContext(t.Context(), "psql", "-1f", "-", "-Xq", strings.Replace(postgresServer(t).URL(), "/postgres?", "/hostile?", 1))
	psql.Stdin = strings.NewReader(functions(t, "postgres"))
	_, err = conn.Exec(t.Context(), "CREATE FUNCTION randflake_unmask(id bigint, key bigint[] DEFAULT NULL) RETURNS bigint RETURN 1")
	must(t, err)
	if said, _ := psql.CombinedOutput(); !strings.Contains(string(said), "already exists") || answer(t, conn, "SELECT count(*)::text FROM pg_proc WHERE proname ~ 'randflake'") != "1" {
		t.Errorf("with a function of that name there, psql made others: %s", said)
	}

	_, err = conn.Exec(t.Context(), "DROP FUNCTION randflake_unmask; CREATE SCHEMA app; SET search_path = app; "+functions(t, "postgres"))
	must(t, err)
	lures := "CREATE SCHEMA lure; SET search_path = lure, app;"
	for signature, returns := range map[string]string{
		"randflake_keys(text)": "bigint[]", "randflake_key()": "bigint[]", "randflake_mask(bigint, bigint[])": "bigint", "randflake_unmask(bigint, bigint[])": "bigint",
		"randflake_text(bigint)": "text", "to_timestamp(bigint)": "timestamptz", "a(bigint, integer)": "bigint", "b(numeric, bigint)": "numeric", "quote_literal(integer)": "text",
	} {
		lures += fmt.Sprintf("CREATE FUNCTION lure.%s RETURNS %s LANGUAGE plpgsql AS $$ BEGIN RAISE 'lured to %s'; END $$;", signature, returns, signature)
	}
	for _, operator := range []string{"&", "#", "|", "%", "*"} {
		lures += fmt.Sprintf("CREATE OPERATOR lure.%s (LEFTARG = bigint, RIGHTARG = integer, FUNCTION = lure.a);", operator)
	}
	_, err = conn.Exec(t.Context(), lures+"CREATE OPERATOR lure.+ (LEFTARG = numeric, RIGHTARG = bigint, FUNCTION = lure.b)")
	must(t, err)
	if _, err := conn.Exec(t.Context(), "SELECT 1::bigint & 1"); err == nil {
		t.Error("the control is not lured")
	}
	secret := randflake.NewSecret()
	_, err = conn.Exec(t.Context(), "SELECT app.randflake_use('"+secret.Hex()+"')")
	must(t, err)
	cipher := randflake.NewCipher(secret)
	id := cipher.Encrypt(math.MaxUint64 - 5)
	fields := cipher.Inspect(id)
	for call, want := range map[string]any{
		"unmask(%d)": int64(-6), "mask(-6) - %d": 0, "time(%d)": fields.Time.Unix(), "node(%d)": fields.Node, "sequence(%d)": fields.Sequence,
		"text(%d)": id, "unsigned(%d)": uint64(id), "id('" + id.String() + "') - %d": 0,
	} {
		query := "SELECT app.randflake_" + fmt.Sprintf(call, int64(id))
		if strings.HasPrefix(call, "time") {
			query = fmt.Sprintf("SELECT extract(epoch FROM app.randflake_time(%d))::bigint", int64(id))
		}
		var got string
		if err := conn.QueryRow(t.Context(), "SELECT x::text FROM ("+query+") AS q(x)").Scan(&got); err != nil || got != fmt.Sprint(want) {
			t.Errorf("%s: %s, %v; want %v", query, got, err, want)
		}
	}
}

// Without a key, or with something else in its place, MariaDB makes no IDs, even where it would rather convert anything
// than fail: without sql_mode, in a database of another character set.
func TestCarelessInMariaDB(t *testing.T) {
	_, err := mariaDB(t).Do("CREATE DATABASE careless CHARACTER SET utf16; USE careless; SET sql_mode = '', group_concat_max_len = 1048576;\n" + functions(t, "mysql") + ordersInMariaDB)
	must(t, err)
	db := openMariaDB(t, false)
	db.SetMaxOpenConns(1) // what is set holds for all
	secret := randflake.NewSecret()
	for _, statement := range []string{"USE careless", "SET sql_mode = ''", "SET @good = randflake_keys('" + secret.Hex() + "'), @secret = '" + secret.Hex() + "'"} {
		_, err := db.Exec(statement)
		must(t, err)
	}
	refuse := func(statement string) {
		t.Helper()
		var got sql.NullString
		if err := db.QueryRow(statement).Scan(&got); err == nil || err == sql.ErrNoRows {
			t.Errorf("%s: %q, %v; want an error", statement, got.String, err)
		}
	}
	for _, bad := range []string{"NULL", "@unset", "''", "CONCAT(@secret, '0')", "CONCAT(@secret, '\n', @secret, ' from 2026-12-01T00:00:00Z')", "LEFT(@secret, 31)", "CONCAT(LEFT(@secret, 31), 'g')"} {
		refuse("SELECT randflake_keys(" + bad + ")")
	}
	for _, key := range []string{"NULL", "@unset", "''", "@secret", "LEFT(@good, 659)"} {
		for _, function := range []string{"mask", "unmask", "time", "node", "sequence"} {
			refuse("SELECT randflake_" + function + "(1, " + key + ")")
		}
		_, err := db.Exec("SET @randflake_key = " + key)
		must(t, err)
		if _, err := db.Exec("INSERT INTO orders (item) VALUES ('a'), ('b')"); err == nil {
			t.Errorf("rows by the key %s", key)
		}
	}
	_, err = db.Exec("SET @randflake_key = @good")
	must(t, err)
	// Rows that have IDs already, from a backup for example, keep them.
	_, err = db.Exec("INSERT INTO orders VALUES (-7, 'old'), (0, 'new')")
	must(t, err)
	var old, made int
	must(t, db.QueryRow("SELECT SUM(id = -7), SUM(randflake_unmask(id, @good) BETWEEN 1 AND 1000) FROM orders").Scan(&old, &made))
	if old != 1 || made != 1 {
		t.Errorf("%d and %d rows", old, made)
	}
	testText(t, db, "SELECT LOWER(CONV(?, 10, 32)), CAST(? AS UNSIGNED)", "SELECT randflake_id(?)")
	// A column may be unsigned.
	cipher := randflake.NewCipher(secret)
	for _, id := range ids {
		var mask, unmask, node uint64
		must(t, db.QueryRow("SELECT CAST(randflake_mask(?, @good) AS UNSIGNED), CAST(randflake_unmask(?, @good) AS UNSIGNED), randflake_node(?, @good)", uint64(id), uint64(id), uint64(id)).Scan(&mask, &unmask, &node))
		if mask != uint64(cipher.Encrypt(randflake.Raw(id))) || unmask != uint64(cipher.Decrypt(id)) || node != uint64(cipher.Inspect(id).Node) {
			t.Errorf("%d: masked %d, unmasked %d, node %d", uint64(id), mask, unmask, node)
		}
	}
	if null := (sql.NullInt64{}); db.QueryRow("SELECT randflake_time(NULL, @good)").Scan(&null) != nil || null.Valid {
		t.Error("NULL has a time")
	}
}
