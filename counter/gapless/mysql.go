package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// MySQLDDL creates the table of counters, if it does not exist, in MySQL 8.0.21, MariaDB 10.6,
// and later versions. Like every CREATE TABLE it commits the transaction in which it runs. In your
// own table make the column of the numbers UNIQUE: see the package comment.
//
// A user that takes numbers needs SELECT and UPDATE; a user that creates counters also needs
// INSERT. Transactions that create counters lock the row without a name, which the schema inserts.
const MySQLDDL = `CREATE TABLE IF NOT EXISTS randflake_gapless (
	name  VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	taken BIGINT NOT NULL, -- the newest number that was given, or the one before the first
	last  BIGINT NOT NULL,
	CHECK (taken >= -1 AND taken <= last)
) ENGINE = InnoDB AS SELECT '' AS name, 0 AS taken, 0 AS last;`

// MySQL returns a Tx that takes numbers within tx in MySQL or MariaDB. If the server refuses one of
// the Tx's statements, or has ended the transaction, the Tx rolls tx back. Later statements then
// fail with sql.ErrTxDone.
func MySQL(tx *sql.Tx) Tx { return Tx{mysql{tx}} }

// A mysql is a transaction of MySQL or MariaDB. Its statements have no parameters, as these would
// cost most drivers a second round trip.
type mysql struct{ tx *sql.Tx }

// rollBack rolls back unless *err is nil. If the error was a deadlock, the server has rolled back
// already, and would commit each later statement by itself.
func (m mysql) rollBack(err *error) {
	if *err != nil {
		m.tx.Rollback()
	}
}

// create first locks the row without a name, so that transactions create counters one after the
// other. Otherwise, when a transaction that creates a counter rolls back, those that wait to create
// the same one deadlock: each then has a lock where the others insert.
//
// ON DUPLICATE KEY UPDATE locks an existing row for writing at once. INSERT IGNORE would lock it
// for reading, and two readers deadlock when they take numbers.
func (m mysql) create(ctx context.Context, name string, taken, last int64) (made bool, err error) {
	defer m.rollBack(&err)
	if _, err := m.tx.ExecContext(ctx, "UPDATE randflake_gapless SET taken = 0 WHERE name = ''"); err != nil {
		return false, err
	}
	result, err := m.tx.ExecContext(ctx, fmt.Sprintf(`INSERT INTO randflake_gapless (name, taken, last)
		VALUES ('%s', %d, %d)
		ON DUPLICATE KEY UPDATE taken = IF(LAST_INSERT_ID(1), taken, taken)`, name, taken, last))
	if err != nil {
		return false, err
	}
	found, err := result.LastInsertId()
	return found == 0, err
}

// takeOrCreate looks for the counter without a lock: a lock on a missing row would keep others from
// inserting it.
func (m mysql) takeOrCreate(
	ctx context.Context, name string, start, last int64,
) (taken, end sql.NullInt64, err error) {
	_, exists, err := find(ctx, m, name)
	if err == nil && !exists {
		_, err = m.create(ctx, name, start-1, last)
	}
	if err != nil {
		return taken, end, err
	}
	return m.take(ctx, name, 1)
}

func (m mysql) take(ctx context.Context, name string, n int64) (taken, last sql.NullInt64, err error) {
	defer m.rollBack(&err)
	for {
		taken, err = m.raise(ctx, name, n)
		if taken.Valid || err != nil {
			return taken, last, err
		}
		var room bool
		room, last, err = m.look(ctx, name, n)
		if !room || err != nil {
			return taken, last, err
		}
		// There is room, so the counter was created just now.
	}
}

// raise adds n to the newest number of a counter, and returns the sum, or NULL if there is no counter
// with n numbers left. Only MariaDB runs the text in /*M! */.
func (m mysql) raise(ctx context.Context, name string, n int64) (taken sql.NullInt64, err error) {
	result, err := m.tx.ExecContext(ctx, fmt.Sprintf(`UPDATE randflake_gapless
		SET taken = LAST_INSERT_ID(taken + %[2]d)
		WHERE name = '%[1]s' AND taken <= last - %[2]d /*M! AND @@in_transaction */`, name, n))
	if err != nil {
		return taken, err
	}
	rows, err := result.RowsAffected()
	if rows == 0 || err != nil {
		return taken, err
	}
	taken.Int64, err = result.LastInsertId()
	taken.Valid = err == nil
	return taken, err
}

// look returns whether a counter has n numbers left, and its last number if there is one. It reads the
// newest row, as UPDATE does, and not that of the transaction's snapshot.
func (m mysql) look(ctx context.Context, name string, n int64) (room bool, last sql.NullInt64, err error) {
	var within bool
	text := fmt.Sprintf(`SELECT taken <= last - %d, last, 1 /*M! AND @@in_transaction */
		FROM randflake_gapless WHERE name = '%s' LOCK IN SHARE MODE`, n, name)
	err = m.tx.QueryRowContext(ctx, text).Scan(&room, &last, &within)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, last, nil
	case err == nil && !within:
		err = fmt.Errorf("%w: begin a new one", ErrNoTransaction)
	}
	return room, last, err
}

func (m mysql) list(ctx context.Context, prefix, after string, limit int) (page []row, err error) {
	defer m.rollBack(&err)
	rows, err := m.tx.QueryContext(ctx, fmt.Sprintf(`SELECT name, taken, last FROM randflake_gapless
		WHERE name >= '%[1]s' AND name < '%[1]s~' AND name > '%[2]s'
		ORDER BY name LIMIT %[3]d`, prefix, after, limit))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.Name, &r.Taken, &r.Last); err != nil {
			return nil, err
		}
		page = append(page, r)
	}
	return page, rows.Err()
}
