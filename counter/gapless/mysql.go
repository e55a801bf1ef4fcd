package gapless

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// MySQLSchema makes the table, where there is none, in MySQL 8.0.16 and MariaDB 10.6, or later. As every statement of its
// kind it commits the transaction that it is in. A user that takes numbers needs SELECT and UPDATE, one that creates
// counters INSERT.
const MySQLSchema = `CREATE TABLE IF NOT EXISTS randflake_gapless (
	name  VARCHAR(50) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	taken BIGINT NOT NULL, -- the newest number that was given, or the one before the first
	last  BIGINT NOT NULL,
	CHECK (taken >= -1 AND taken <= last)
) ENGINE = InnoDB;`

// MySQL returns what takes numbers within a transaction in MySQL or MariaDB.
func MySQL(tx *sql.Tx) Tx { return Tx{mysql{tx}} }

// Its statements have no parameters, which would cost most drivers a second round trip.
type mysql struct{ tx *sql.Tx }

func (m mysql) create(ctx context.Context, name string, taken, last int64) (made bool, err error) {
	// IGNORE is for a name that is there; nothing else can be wrong with the row.
	result, err := m.tx.ExecContext(ctx, fmt.Sprintf("INSERT IGNORE INTO randflake_gapless (name, taken, last) VALUES ('%s', %d, %d)", name, taken, last))
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// Only MariaDB reads what stands in /*M! */.
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
		if room, last, err = m.look(ctx, name, n); err != nil || !room { // otherwise somebody has created it just now
			return taken, last, err
		}
	}
}

// look returns whether there is a counter with n numbers left, and the last one if there is a counter. It reads the newest
// row, as UPDATE does, not that of the transaction's snapshot.
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
