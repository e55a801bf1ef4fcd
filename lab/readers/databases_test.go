package readers

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake/internal/servers"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mariaDBReads: to MariaDB each text is the number 0, and what isn't is misread.
func mariaDBReads(t *testing.T, texts iter.Seq[string]) []string {
	server, err := servers.StartMySQL(filepath.Join(t.TempDir(), "mysql"))
	must(t, err)
	t.Cleanup(func() { server.Kill() })
	address, err := url.Parse(server.URL())
	must(t, err)
	db, err := sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s", address.User, address.Host, address.Path))
	must(t, err)
	defer db.Close()

	lines, in := io.Pipe()
	go func() {
		buffered := bufio.NewWriter(in)
		for text := range texts {
			buffered.WriteString(text + "\n")
		}
		in.CloseWithError(buffered.Flush())
	}()
	mysql.RegisterReaderHandler("texts", func() io.Reader { return lines })
	defer mysql.DeregisterReaderHandler("texts")
	for _, statement := range []string{
		"CREATE TABLE texts (n BIGINT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(13), zero BIGINT DEFAULT 0)",
		"LOAD DATA LOCAL INFILE 'Reader::texts' INTO TABLE texts (text)",
	} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	rows, err := db.QueryContext(t.Context(), `SELECT text FROM texts
		WHERE text <> zero OR text + 0 <> 0 OR text IS TRUE OR CAST(text AS SIGNED) <> 0 OR CAST(text AS UNSIGNED) <> 0
			OR CAST(text AS DECIMAL(30, 10)) <> 0 OR CAST(text AS DOUBLE) <> 0
		ORDER BY n`)
	must(t, err)
	defer rows.Close()
	var misread []string
	for rows.Next() {
		var text string
		must(t, rows.Scan(&text))
		misread = append(misread, text)
	}
	must(t, rows.Err())
	return misread
}

// postgresReads: PostgreSQL refuses to cast a text, but for dates: see docs/databases.md.
func postgresReads(t *testing.T, texts iter.Seq[string]) []string {
	server, err := servers.StartPostgres(filepath.Join(t.TempDir(), "postgres"), nil)
	must(t, err)
	t.Cleanup(func() { server.Kill() })
	conn, err := pgx.Connect(t.Context(), server.URL())
	must(t, err)
	defer conn.Close(t.Context())

	var blocks string
	for _, kind := range []string{"bigint", "numeric", "double precision", "boolean"} {
		blocks += "BEGIN RETURN text::" + kind + " IS NOT NULL; EXCEPTION WHEN data_exception THEN END;\n"
	}
	_, err = conn.Exec(t.Context(), `CREATE TABLE texts (n bigserial, text text);
		CREATE FUNCTION reads(text text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN `+blocks+` RETURN false; END $$`)
	must(t, err)
	next, stop := iter.Pull(texts)
	defer stop()
	_, err = conn.CopyFrom(t.Context(), pgx.Identifier{"texts"}, []string{"text"}, pgx.CopyFromFunc(func() ([]any, error) {
		text, ok := next()
		if !ok {
			return nil, nil
		}
		return []any{text}, nil
	}))
	must(t, err)
	rows, err := conn.Query(t.Context(), "SELECT text FROM texts WHERE reads(text) ORDER BY n")
	must(t, err)
	misread, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	return misread
}
