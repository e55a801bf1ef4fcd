package databases

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/randflake/randflake"
)

// open connects to a database, and makes a table there anew.
func open(t *testing.T, d database, table, columns string) *sql.DB {
	t.Helper()
	db, err := sql.Open(d.driver, d.source)
	must(t, err)
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec("DROP TABLE IF EXISTS " + table)
	must(t, err)
	_, err = db.Exec("CREATE TABLE " + table + " (" + columns + ")")
	must(t, err)
	return db
}

// TestPaging walks through a table by cursors that clients can't read.
func TestPaging(t *testing.T) {
	db := open(t, databases(t)["PostgreSQL, binary"], "articles", "id BIGINT PRIMARY KEY, text TEXT")
	for n := range 7 {
		_, err := db.Exec("INSERT INTO articles VALUES ($1, $2)", (n+1)<<22, fmt.Sprint(n))
		must(t, err)
	}
	var read []string
	for cursor := ""; ; {
		page, next, err := articlesAfter(t.Context(), db, cursor, 3)
		must(t, err)
		if len(page) == 0 {
			if next != cursor {
				t.Errorf("the cursor at the end is %q, want %q again", next, cursor)
			}
			break
		}
		for _, article := range page {
			read = append(read, article.Text)
		}
		cursor = next
	}
	if got := strings.Join(read, ""); got != "0123456" {
		t.Errorf("read %s, want each article once, and in order", got)
	}
	if _, _, err := articlesAfter(t.Context(), db, "1849688064000000000", 3); err == nil {
		t.Error("a number is taken for a cursor")
	}
}

// TestRetries: the statements of docs/databases.md return the first ID of a request, however often it is sent.
func TestRetries(t *testing.T) {
	statements := strings.Split(statementsOf(t, "One ID for one request")[0], "\n")
	for name, d := range databases(t) {
		db := open(t, d, "orders", "id BIGINT PRIMARY KEY, request VARCHAR(36) UNIQUE")
		of := 0
		if d.driver == "mysql" {
			of = 1
		}
		insert, _, _ := strings.Cut(statements[of], "--")
		wants := map[string]randflake.ID{}
		for _, request := range []string{"a", "b", "a", "a", "b"} {
			made, err := generator.Generate()
			must(t, err)
			var got randflake.ID
			must(t, db.QueryRow(insert, made, request).Scan(&got))
			if wants[request] == 0 {
				wants[request] = made
			}
			if got != wants[request] {
				t.Errorf("%s: request %s has the ID %v, want its first one, %v", name, request, got, wants[request])
			}
		}
		_, err := db.Exec("DROP TABLE orders")
		must(t, err)
	}
}

// TestOtherVersions: the query of docs/security.md finds the UUIDs that mask.UUID can't show.
func TestOtherVersions(t *testing.T) {
	query := statementsOf(t, "Masked UUIDs")[0]
	other := []uuid.UUID{
		uuid.Nil,
		uuid.Max,
		uuid.New(),
		uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), // of version 1
		uuid.MustParse("019aa91c-8e00-7abc-cdef-0123456789ab"), // 7, of another variant
		uuid.MustParse("019aa91c-8e00-7abc-0def-0123456789ab"), // 7, of another variant
	}
	for name, d := range databases(t) {
		for _, kind := range []string{"UUID", "VARCHAR(36)"} {
			db := open(t, d, "documents", "id "+kind+" PRIMARY KEY")
			all := slices.Clone(other)
			for range 100 {
				v7, err := uuid.NewV7()
				must(t, err)
				all = append(all, v7)
			}
			for _, id := range all {
				_, err := db.Exec("INSERT INTO documents VALUES ("+d.parameter+")", id.String())
				must(t, err)
			}
			rows, err := db.Query(query)
			must(t, err)
			defer rows.Close()
			var found []string
			for rows.Next() {
				var id uuid.UUID
				must(t, rows.Scan(&id))
				found = append(found, id.String())
			}
			must(t, rows.Err())
			var want []string
			for _, id := range other {
				want = append(want, id.String())
			}
			slices.Sort(found)
			slices.Sort(want)
			if !slices.Equal(found, want) {
				t.Errorf("%s, %s: found %v, want %v", name, kind, found, want)
			}
		}
	}
}
