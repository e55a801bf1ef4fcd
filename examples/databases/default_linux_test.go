package databases

import (
	"context"
	"flag"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/randflake/randflake"
)

var inserts = flag.Int("inserts", 4000, "rows that get masked numbers of a sequence, in PostgreSQL and in MariaDB")

const ordersInPostgres = `
CREATE SEQUENCE order_numbers;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT randflake_mask(nextval('order_numbers')), item text);
`

const ordersInMariaDB = `
CREATE SEQUENCE order_numbers;
CREATE TABLE orders (id BIGINT DEFAULT 0 PRIMARY KEY, item TEXT);
CREATE TRIGGER order_ids BEFORE INSERT ON orders FOR EACH ROW
  SET NEW.id = IF(NEW.id <> 0, NEW.id, randflake_mask(NEXTVAL(order_numbers), @randflake_key));
`

// Eight sessions insert rows at the same time: the library opens their keys to the numbers from 1 on, each once.
func TestMaskedSequenceInPostgreSQL(t *testing.T) {
	install(t)
	conn := connectPostgres(t)
	_, err := conn.Exec(t.Context(), ordersInPostgres)
	must(t, err)
	if _, err := conn.Exec(t.Context(), "INSERT INTO orders (item) VALUES ('no key')"); err == nil {
		t.Error("a row without a key")
	}
	_, err = conn.Exec(t.Context(), "ALTER SEQUENCE order_numbers RESTART")
	must(t, err)
	secret := randflake.NewSecret()
	together(t, func() error {
		conn, err := pgx.Connect(t.Context(), postgresServer(t).URL())
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		if err := useSecret(t.Context(), conn, secret); err != nil {
			return err
		}
		for done := 0; done < *inserts/8 && err == nil; done += 500 {
			_, err = conn.Exec(t.Context(), "INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, $1)", min(500, *inserts/8-done))
		}
		return err
	})
	rows, err := conn.Query(t.Context(), "SELECT id FROM orders")
	must(t, err)
	masked, err := pgx.CollectRows(rows, pgx.RowTo[randflake.ID])
	must(t, err)
	checkNumbers(t, secret, masked)

	// What a restored copy does: its sequence goes on where the backup was made.
	must(t, useSecret(t.Context(), conn, secret))
	_, err = conn.Exec(t.Context(), "SELECT setval('order_numbers', 5)")
	must(t, err)
	if _, err := conn.Exec(t.Context(), "INSERT INTO orders (item) VALUES ('again')"); err == nil {
		t.Error("a number that was set back has another ID")
	}
}

func TestMaskedSequenceInMariaDB(t *testing.T) {
	install(t)
	_, err := mariaDB(t).Do(ordersInMariaDB)
	must(t, err)
	db := openMariaDB(t, false)
	if _, err := db.Exec("INSERT INTO orders (item) VALUES ('no key')"); err == nil {
		t.Error("a row without a key")
	}
	_, err = db.Exec("ALTER SEQUENCE order_numbers RESTART")
	must(t, err)
	secret := randflake.NewSecret()
	together(t, func() error {
		conn, err := db.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
		sharing.Lock()
		err = useSecretInMariaDB(t.Context(), conn, secret)
		sharing.Unlock()
		for done := 0; done < *inserts/8 && err == nil; done += 500 {
			_, err = conn.ExecContext(t.Context(), "INSERT INTO orders (item) SELECT 'x' FROM seq_1_to_500 WHERE seq <= ?", min(500, *inserts/8-done))
		}
		return err
	})
	rows, err := db.Query("SELECT id FROM orders")
	must(t, err)
	defer rows.Close()
	var masked []randflake.ID
	for rows.Next() {
		var id randflake.ID
		must(t, rows.Scan(&id))
		masked = append(masked, id)
	}
	must(t, rows.Err())
	checkNumbers(t, secret, masked)
}

var sharing sync.Mutex // readers are known to the driver by their name

// together calls f eight times at once.
func together(t *testing.T, f func() error) {
	t.Helper()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func checkNumbers(t *testing.T, secret randflake.Secret, masked []randflake.ID) {
	t.Helper()
	cipher := randflake.NewCipher(secret)
	seen := make([]bool, len(masked)+1)
	for _, id := range masked {
		if n := cipher.Decrypt(id); n < 1 || int(n) > len(masked) || seen[n] {
			t.Fatalf("%v opens to %d, of %d", id, n, len(masked))
		} else {
			seen[n] = true
		}
	}
	if len(masked) != *inserts {
		t.Errorf("%d rows", len(masked))
	}
	t.Logf("%d rows", len(masked))
}
