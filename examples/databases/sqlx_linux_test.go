package databases

import (
	"context"
	"slices"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/randflake/randflake"
)

// A Customer is a row; sqlx goes by the tags.
type Customer struct {
	ID   randflake.ID `db:"id"`
	Name string       `db:"name"`
}

// customersByID reads many rows by one statement, which sqlx.In gives a parameter for each ID.
func customersByID(ctx context.Context, db *sqlx.DB, ids []randflake.ID) (customers []Customer, err error) {
	query, args, err := sqlx.In("SELECT id, name FROM customers WHERE id IN (?)", ids)
	if err != nil {
		return nil, err
	}
	err = db.SelectContext(ctx, &customers, db.Rebind(query), args...)
	return customers, err
}

func TestSQLX(t *testing.T) {
	db := sqlx.NewDb(openMariaDB(t, false), "mysql")
	db.MustExec("CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR(100) NOT NULL)")
	customers := []Customer{{-1, "Ada"}, {1, "Bob"}, {1 << 62, "Cyd"}}
	_, err := db.NamedExecContext(t.Context(), "INSERT INTO customers (id, name) VALUES (:id, :name)", customers)
	must(t, err)
	got, err := customersByID(t.Context(), db, []randflake.ID{1 << 62, 7, -1})
	slices.SortFunc(got, func(a, b Customer) int { return int(a.Name[0]) - int(b.Name[0]) })
	if want := []Customer{customers[0], customers[2]}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
