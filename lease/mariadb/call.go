package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/swap"
)

// call makes a transaction of the statements in text, and examines a server that it did not know.
// It begins again after an error that passes.
func (e *Engine) call(
	ctx context.Context, what, text string, args []any, names []string,
) (lease.Answer, error) {
	text = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; " + text +
		";\nSELECT name, value FROM @table WHERE NOT @randflake_ok" +
		" AND name IN (''" + strings.Repeat(", ?", len(names)) + ")" +
		";\n" + e.reportSQL() +
		";\nCOMMIT"
	for _, name := range names {
		args = append(args, name)
	}
	args = append(args, e.config.Table)
	for ctx.Err() == nil && !e.closed.Load() {
		a, answered, err := e.send(ctx, e.statement(text), args, names)
		if err == nil {
			err = e.examine(ctx, a.Lineage)
		}
		if err == nil {
			return a, nil
		}
		if answered {
			return lease.Answer{}, e.explain(ctx, what, err)
		}
		if !passes(err) {
			return lease.Answer{}, e.explain(ctx, what, rolledBack(err))
		}
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	return lease.Answer{}, e.explain(ctx, what, swap.Unmade(cmp.Or(ctx.Err(), fs.ErrClosed)))
}

// passes reports whether a call that was not answered, with this error, may be made again: it
// changed nothing, and another try can succeed.
func passes(err error) bool {
	deadlock := &mysql.MySQLError{Number: 1213}
	lockTimeout := &mysql.MySQLError{Number: 1205}
	notSent := driver.ErrBadConn
	return errors.Is(err, deadlock) || errors.Is(err, lockTimeout) || errors.Is(err, notSent)
}

// rolledBack marks the error of a call that was not answered, if the error is the server's. Nothing is
// committed before the first answer.
func rolledBack(err error) error {
	_, ok := errors.AsType[*mysql.MySQLError](err)
	if ok {
		return swap.Unmade(err)
	}
	return err
}

// send sends one request and takes its answers: entries, the report, and that of COMMIT. answered
// says that the first one came; before it nothing is committed. After an error no transaction stays
// open.
func (e *Engine) send(
	ctx context.Context, text string, args []any, names []string,
) (a lease.Answer, answered bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return a, false, swap.Unmade(err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, text, args...)
	answered = err == nil
	if answered {
		a, err = receive(rows, names)
	}
	if err == nil {
		return a, true, nil
	}
	_, failed := conn.ExecContext(ctx, "ROLLBACK")
	if failed != nil {
		conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
	}
	return lease.Answer{}, answered, err
}

// receive takes the answers to a request, up to that of COMMIT.
func receive(rows *sql.Rows, names []string) (a lease.Answer, err error) {
	entries, err := scan(rows)
	found := map[string][]byte{}
	for _, entry := range entries {
		found[entry.Name] = entry.Value
	}
	for _, name := range names {
		a.Entries = append(a.Entries, lease.Entry{Name: name, Value: found[name]})
	}
	var unsafe string
	var now int64
	if err == nil && rows.NextResultSet() && rows.Next() {
		err = rows.Scan(&unsafe, &a.Lineage, &now, &a.Swapped, &a.Position)
	}
	a.Time = time.UnixMicro(now)
	for rows.NextResultSet() { // Close would wait without heeding ctx
	}
	err = errors.Join(err, rows.Err(), rows.Close())
	switch {
	case unsafe != "":
		return a, fmt.Errorf("%w: %s", lease.ErrUnsafe, unsafe)
	case err != nil:
		return a, err
	case a.Position == 0: // then nothing was put
		return a, swap.Unmade(fmt.Errorf("%w: there is no row with the position", lease.ErrNoSpace))
	}
	return a, nil
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
