package databases

import (
	"database/sql"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

func TestTextInPostgreSQL(t *testing.T) {
	install(t)
	db, err := sql.Open("pgx", postgresServer(t).URL())
	must(t, err)
	defer db.Close()
	testText(t, db, "SELECT randflake_text($1::bigint), randflake_unsigned($1::bigint)", "SELECT randflake_id($1)")
	// In columns where A equals a, the text form is still in lower case.
	_, err = db.Exec("CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
	must(t, err)
	testText(t, db, "SELECT randflake_text($1::bigint), randflake_unsigned($1::bigint)", "SELECT randflake_id($1::text COLLATE caseless)")
}

func TestTextInMariaDB(t *testing.T) {
	install(t)
	db := openMariaDB(t, false)
	testText(t, db, "SELECT LOWER(CONV(?, 10, 32)), CAST(? AS UNSIGNED)", "SELECT randflake_id(?)")
	t.Run("columns", func(t *testing.T) { testConv(t, db) })
}

// testConv: signed and unsigned columns have the same texts, which the parameters of statements may not tell.
func testConv(t *testing.T, db *sql.DB) {
	_, err := db.Exec("CREATE TABLE conv (a BIGINT, b BIGINT UNSIGNED)")
	must(t, err)
	for _, id := range ids {
		_, err := db.Exec("INSERT INTO conv VALUES (?, ?)", id, uint64(id))
		must(t, err)
		var a, b, decimal string
		err = db.QueryRow("SELECT LOWER(CONV(a, 10, 32)), LOWER(CONV(b, 10, 32)), CAST(a AS UNSIGNED) FROM conv WHERE b = ?", uint64(id)).Scan(&a, &b, &decimal)
		if err != nil || a != id.String() || b != a || decimal != strconv.FormatUint(uint64(id), 10) {
			t.Errorf("%d is %s, and %s unsigned, %s: %v; want %v", int64(id), a, b, decimal, err, id)
		}
	}
}

// testText compares SQL with the library: the text and the unsigned decimal of an ID, and the ID of a text.
func testText(t *testing.T, db *sql.DB, write, read string) {
	for _, id := range append(randomIDs(200), ids...) {
		args := []any{id, id}
		var text, decimal string
		err := db.QueryRow(write, args[:max(1, strings.Count(write, "?"))]...).Scan(&text, &decimal)
		if err != nil || text != id.String() || decimal != strconv.FormatUint(uint64(id), 10) {
			t.Errorf("%d is %q and %q: %v; want %v and %d", int64(id), text, decimal, err, id, uint64(id))
		}
		for _, text := range []string{id.String(), "tkt_" + id.String(), "a_b2_" + id.String()} {
			var back randflake.ID
			if err := db.QueryRow(read, text).Scan(&back); err != nil || back != id {
				t.Errorf("%s is %d, %v; want %d", text, int64(back), err, int64(id))
			}
		}
	}
	for _, text := range badTexts(200) {
		var id randflake.ID
		want, wantErr := randflake.Parse(prefix.ReplaceAllString(text, ""))
		if err := db.QueryRow(read, text).Scan(&id); (err != nil) != (wantErr != nil) || id != want {
			t.Errorf("%q is %d, %v; the library says %d, %v", text, int64(id), err, int64(want), wantErr)
		}
	}
	var null sql.Null[randflake.ID]
	if err := db.QueryRow(read, nil).Scan(&null); err != nil || null.Valid {
		t.Errorf("NULL is %v, %v", null, err)
	}
}

var prefix = regexp.MustCompile(`^[a-z]([a-z0-9_]*[a-z0-9])?_`) // of a typed ID

// badTexts returns texts that are nearly those of IDs, most of which the library refuses.
func badTexts(n int) []string {
	texts := []string{"", "0", "00", "01", "A", "w", "-1", "+1", " 1", "1 ", "1\n", "1\t", "1=", "0x1", "1.0", "1e3", "é", "١", "v\u0301", "ｖ",
		"g000000000000", "fvvvvvvvvvvvv", "FVVVVVVVVVVVV", "vvvvvvvvvvvvv", "10000000000000", "fvvvvvvvvvvvvv", strings.Repeat("0", 13), strings.Repeat("v", 300)}
	const near = "0123456789abcdefghijklmnopqrstuvwxyzAV -\n_%\\'"
	for range n {
		text := []byte(randflake.ID(rand.Uint64() >> rand.IntN(64)).String())
		text[rand.IntN(len(text))] = near[rand.IntN(len(near))]
		texts = append(texts, string(text))
	}
	return texts
}
