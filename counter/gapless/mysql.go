package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// MySQLSchema creates the table, if it does not exist, in MySQL 8.0.21, MariaDB 10.6, and later versions. Like every
// CREATE TABLE it commits the transaction in which it runs. Make the column of the numbers in your own table UNIQUE: see the
// package comment. A user that takes numbers needs SELECT, INSERT and UPDATE. The row without a name, which the schema inserts, is
// what transactions lock while they create counters.
const MySQLSchema = `CREATE TABLE IF NOT EXISTS randflake_gapless (
	name  VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	taken BIGINT NOT NULL, -- the newest number that was given, or the one before the first
	last  BIGINT NOT NULL,
	CHECK (taken >= -1 AND taken <= last)
) ENGINE = InnoDB AS SELECT '' AS name, 0 AS taken, 0 AS last;`

// MySQL returns a Tx that takes numbers within tx in MySQL or MariaDB. If the server refuses one of its statements, or has
// ended the transaction, it rolls tx back, so that later statements fail with sql.ErrTxDone.
func MySQL(tx *sql.Tx) Tx { return Tx{mysql{tx}} }

// The statements of mysql have no parameters, as these would cost most drivers a second round trip.
type mysql struct{ tx *sql.Tx }

// next rolls back after an error of the server, which has done so already if it was a deadlock, and would commit each later statement by
// itself.
func (m mysql) next(ctx context.Context, name string, first, last int64) (int64, error) {
	n, err := m.take(ctx, name, first, last)
	if err != nil && !errors.Is(err, ErrEnd) {
		m.tx.Rollback()
	}
	return n, err
}

// take looks for the counter without a lock, as that of a missing row would keep others from inserting it. Only MariaDB runs the text
// in /*M! */.
func (m mysql) take(ctx context.Context, name string, first, last int64) (int64, error) {
	var found bool
	query := fmt.Sprintf("SELECT EXISTS (SELECT * FROM randflake_gapless WHERE name = '%s')", name)
	err := m.tx.QueryRowContext(ctx, query).Scan(&found)
	if err == nil && !found {
		err = m.create(ctx, name, first-1, last)
	}
	if err != nil {
		return 0, err
	}
	update := fmt.Sprintf(`UPDATE randflake_gapless SET taken = LAST_INSERT_ID(taken + 1)
		WHERE name = '%s' AND taken < last /*M! AND @@in_transaction */`, name)
	result, err := m.tx.ExecContext(ctx, update)
	if err != nil {
		return 0, err
	}
	rows, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	if rows == 0 {
		return 0, m.why(ctx, name)
	}
	return result.LastInsertId()
}

// create locks the row without a name first, so that transactions create one after the other. Otherwise those that wait for
// one that creates the same counter deadlock when it rolls back: each then has a lock where the others insert. An existing
// row is locked for writing at once, not for reading as by INSERT IGNORE, since two readers deadlock when they take numbers.
func (m mysql) create(ctx context.Context, name string, taken, last int64) error {
	if _, err := m.tx.ExecContext(ctx, "UPDATE randflake_gapless SET taken = 0 WHERE name = ''"); err != nil {
		return err
	}
	insert := fmt.Sprintf(`INSERT INTO randflake_gapless (name, taken, last) VALUES ('%s', %d, %d)
		ON DUPLICATE KEY UPDATE taken = taken`, name, taken, last)
	_, err := m.tx.ExecContext(ctx, insert)
	return err
}

// why returns why no number was taken. It reads the newest row, as UPDATE does, instead of the transaction's snapshot.
func (m mysql) why(ctx context.Context, name string) error {
	query := fmt.Sprintf(`SELECT last, 1 /*M! AND @@in_transaction */ FROM randflake_gapless
		WHERE name = '%s' LOCK IN SHARE MODE`, name)
	var last int64
	var within bool
	err := m.tx.QueryRowContext(ctx, query).Scan(&last, &within)
	switch {
	case err != nil:
		return err
	case !within:
		return fmt.Errorf("%w: begin a new one", ErrNoTransaction)
	}
	return atEnd(last)
}

// list leaves out the row without a name, which comes after no other. It rolls back after an error, as next does.
func (m mysql) list(ctx context.Context, prefix, after string, limit int) ([]counter, error) {
	query := fmt.Sprintf(`SELECT name, taken, last FROM randflake_gapless
		WHERE name >= '%[1]s' AND name < '%[1]s~' AND name > '%[2]s' ORDER BY name LIMIT %[3]d`, prefix, after, limit)
	page, err := m.counters(ctx, query)
	if err != nil {
		m.tx.Rollback()
	}
	return page, err
}

func (m mysql) counters(ctx context.Context, query string) (page []counter, err error) {
	rows, err := m.tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c counter
		if err := rows.Scan(&c.Name, &c.Taken, &c.Last); err != nil {
			return nil, err
		}
		page = append(page, c)
	}
	return page, rows.Err()
}
