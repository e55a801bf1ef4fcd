package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// A call is one request of several statements, with three answers:
//
//  1. the entries,
//  2. the report: see reportSQL,
//  3. that of COMMIT, which has no rows.
//
// So an error of the server in place of the first answer means that nothing was changed. After any other
// error of a request that was sent, the outcome is unknown.

// call makes a transaction of the statements in text, and examines a server that it did not know.
// It begins again after an error that passes.
func (e *Engine) call(ctx context.Context, what, text string, args []any, names []string) (lease.Answer, error) {
	for _, name := range names {
		args = append(args, name)
	}
	args = append(args, e.config.Table)
	request := e.request(text, len(names))
	for ctx.Err() == nil && !e.closed.Load() {
		a, answered, err := e.send(ctx, request, args, names)
		if err == nil {
			err = e.examine(ctx, a.Lineage)
		}
		if err == nil {
			return a, nil
		}
		if answered || !passes(err) {
			return lease.Answer{}, e.explain(ctx, what, err)
		}
		swap.Pause(ctx, 20*time.Millisecond)
	}
	return lease.Answer{}, e.explain(ctx, what, swap.Unmade(cmp.Or(ctx.Err(), fs.ErrClosed)))
}

// request returns all statements of a call. text has those that come before the answers.
func (e *Engine) request(text string, names int) string {
	return e.statement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; " + text +
		";\nSELECT name, value FROM @table WHERE NOT @randflake_ok" +
		" AND name IN (''" + strings.Repeat(", ?", names) + ")" +
		";\n" + e.reportSQL() +
		";\nCOMMIT")
}

// passes reports whether another try can succeed after an error in place of the first answer.
func passes(err error) bool {
	deadlock := &mysql.MySQLError{Number: 1213}
	lockTimeout := &mysql.MySQLError{Number: 1205}
	notSent := driver.ErrBadConn
	return errors.Is(err, deadlock) || errors.Is(err, lockTimeout) || errors.Is(err, notSent)
}

// send sends a request and takes its answers. answered says that the first one came. After an error no
// transaction stays open.
func (e *Engine) send(ctx context.Context, request string, args []any, names []string) (a lease.Answer, answered bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return a, false, swap.Unmade(err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, request, args...)
	if err != nil {
		rollBack(ctx, conn)
		if _, ofServer := errors.AsType[*mysql.MySQLError](err); ofServer {
			err = swap.Unmade(err)
		}
		return a, false, err
	}
	a, err = receive(rows, names)
	if err != nil {
		rollBack(ctx, conn)
		return lease.Answer{}, true, err
	}
	return a, true, nil
}

// rollBack ends the transaction of a connection, or the connection.
func rollBack(ctx context.Context, conn *sql.Conn) {
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	if err != nil {
		conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
	}
}

// receive takes the answers to a request.
func receive(rows *sql.Rows, names []string) (lease.Answer, error) {
	a, objection, err := scanAnswer(rows, names)
	for rows.NextResultSet() { // Close would wait without heeding ctx
	}
	err = errors.Join(err, rows.Err(), rows.Close())
	switch {
	case objection != "":
		return a, fmt.Errorf("%w: %s", lease.ErrUnsafe, objection)
	case err != nil:
		return a, err
	case a.Position == 0: // then nothing was put
		return a, swap.Unmade(fmt.Errorf("%w: there is no row with the position", lease.ErrNoSpace))
	}
	return a, nil
}

// scanAnswer scans the entries and the report. The objection is to settings, or "".
func scanAnswer(rows *sql.Rows, names []string) (a lease.Answer, objection string, err error) {
	entries, err := scan(rows)
	if err != nil {
		return a, "", err
	}
	found := map[string][]byte{}
	for _, entry := range entries {
		found[entry.Name] = entry.Value
	}
	for _, name := range names {
		a.Entries = append(a.Entries, lease.Entry{Name: name, Value: found[name]})
	}
	if !rows.NextResultSet() || !rows.Next() {
		return a, "", nil // receive asks for the error
	}
	var now int64
	err = rows.Scan(&objection, &a.Lineage, &now, &a.Swapped, &a.Position)
	a.Time = time.UnixMicro(now)
	return a, objection, err
}

// scan returns the entries in rows.
func scan(rows *sql.Rows) (entries []lease.Entry, err error) {
	for rows.Next() && err == nil {
		var entry lease.Entry
		err = rows.Scan(&entry.Name, &entry.Value)
		entries = append(entries, entry)
	}
	return entries, cmp.Or(err, rows.Err())
}

// meanings has, for errors of the server by their numbers, what they mean or what to do.
var meanings = map[uint16]error{
	1044: fs.ErrPermission, // for the database
	1142: fs.ErrPermission, // for the table
	1146: lease.ErrNoSpace, // no such table
	1034: lease.ErrCorrupt, // index
	1194: lease.ErrCorrupt, // table
	1712: lease.ErrCorrupt, // index
	1049: errors.New("the database is missing: make it first, with CREATE DATABASE"),
	1290: fmt.Errorf("%w: server is read-only: connect to the primary", lease.ErrUnsafe),
	1064: errors.New("the driver needs multiStatements=true and interpolateParams=true"), // syntax error
}

// explain adds to an error what was tried, where, and what the error means.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	meaning := swap.Ended(ctx)
	server, ok := errors.AsType[*mysql.MySQLError](err)
	if ok {
		meaning = cmp.Or(meaning, meanings[server.Number])
	}
	err = swap.Explain(err, meaning)
	if e.closed.Load() {
		err = fs.ErrClosed
	}
	return fmt.Errorf("mariadb: %s: %s: %w", what, e, err)
}
