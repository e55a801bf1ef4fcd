package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// MySQLSchema creates the table, if it does not exist, in MySQL 8.0.16, MariaDB 10.6, and later versions. Like every
// CREATE TABLE it commits the transaction in which it runs. A user that takes numbers needs SELECT and UPDATE; a user
// that creates counters needs INSERT.
const MySQLSchema = `CREATE TABLE IF NOT EXISTS randflake_gapless (
	name  VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	taken BIGINT NOT NULL, -- the newest number that was given, or the one before the first
	last  BIGINT NOT NULL,
	CHECK (taken >= -1 AND taken <= last)
) ENGINE = InnoDB;`

// MySQL returns a Tx that takes numbers within tx in MySQL or MariaDB.
func MySQL(tx *sql.Tx) Tx { return Tx{mysql{tx}} }

// The statements of mysql have no parameters, as these would cost most drivers a second round trip.
type mysql struct{ tx *sql.Tx }

func (m mysql) create(ctx context.Context, name string, taken, last int64) (made bool, err error) {
	// IGNORE ignores a name that exists already; nothing else can be wrong with the row.
	result, err := m.tx.ExecContext(ctx, fmt.Sprintf("INSERT IGNORE INTO randflake_gapless (name, taken, last) VALUES ('%s', %d, %d)", name, taken, last))
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// Only MariaDB runs the text in /*M! */.
func (m mysql) take(ctx context.Context, name string, n int64) (taken, last sql.NullInt64, err error) {
	for {
		result, err := m.tx.ExecContext(ctx, fmt.Sprintf(`UPDATE randflake_gapless SET taken = LAST_INSERT_ID(taken + %[2]d)
			WHERE name = '%[1]s' AND taken <= last - %[2]d /*M! AND @@in_transaction */`, name, n))
		if err != nil {
			return taken, last, err
		}
		rows, err := result.RowsAffected()
		if rows == 1 {
			taken.Int64, err = result.LastInsertId()
			taken.Valid = err == nil
		}
		if rows == 1 || err != nil {
			return taken, last, err
		}
		var room bool
		if room, last, err = m.look(ctx, name, n); err != nil || !room { // otherwise the counter was created just now
			return taken, last, err
		}
	}
}

// look returns whether there is a counter with n numbers left, and the counter's last number if there is a counter. It
// reads the newest row, as UPDATE does, instead of the transaction's snapshot.
func (m mysql) look(ctx context.Context, name string, n int64) (room bool, last sql.NullInt64, err error) {
	var within bool
	err = m.tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT taken <= last - %d, last, 1 /*M! AND @@in_transaction */ FROM randflake_gapless
		WHERE name = '%s' LOCK IN SHARE MODE`, n, name)).Scan(&room, &last, &within)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, last, nil
	case err == nil && !within:
		err = fmt.Errorf("%w: begin a new one", ErrNoTransaction)
	}
	return room, last, err
}
