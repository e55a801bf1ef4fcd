package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/randflake/randflake/store"
)

// An Engine keeps entries in a table.
type Engine struct {
	db       *sql.DB
	ownsDB   bool
	config   Config
	report   string // the statement that makes a report
	closed   atomic.Bool
	examined atomic.Pointer[string] // the lineage of the server that was examined last
}

const (
	createSQL = ` (name VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
		value MEDIUMBLOB NOT NULL, calls BIGINT UNSIGNED NOT NULL) ENGINE = InnoDB`

	// beginSQL begins a transaction whose reads without locks are all of the moment of the first.
	beginSQL = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ WRITE;\n"

	// countSQL counts the call, in a row that is seldom another connection's as well, after all other locks. It also makes
	// durable what the call finds, which others may have committed but not yet flushed: a commit that writes
	// waits until everything before it is on disk.
	countSQL = "INSERT INTO @table (name, value, calls) VALUES (CONCAT('!', CONNECTION_ID() % 64), '', 1) ON DUPLICATE KEY UPDATE calls = calls + 1;\n"

	firstName = "-" // is after the names of those rows, and not after any entry's
	insertSQL = "INSERT INTO @table (name, value, calls) SELECT ?, ?, 0 FROM DUAL WHERE @randflake_ok"
	patience  = 10 * time.Second // with calls that the server gives up
)

// Read implements [store.Engine].
func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	text, args := findSQL(names)
	if text = beginSQL + countSQL + text; page.Limit > 0 {
		text += " UNION ALL (SELECT 1, name, value FROM @table WHERE name >= ? AND name < ? ORDER BY name LIMIT ?)"
		args = append(args, max(page.From, firstName), page.To, page.Limit)
	}
	r, err := e.call(ctx, "read", text, args, names)
	r.Swapped = false // it is that of an earlier call
	slices.SortFunc(r.Page, byName)
	return r.Answer, err
}

func byName(x, y store.Entry) int { return strings.Compare(x.Name, y.Name) }

// findSQL returns a query for entries; the column before them tells them from those of a page.
func findSQL(names []string) (text string, args []any) {
	for _, name := range names {
		args = append(args, name)
	}
	return "SELECT 0, name, value FROM @table WHERE name IN (''" + strings.Repeat(", ?", len(names)) + ")", args
}

// Swap implements [store.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (a store.Answer, err error) {
	for began := time.Now(); time.Since(began) < patience; {
		if a, err = e.swap(ctx, expect, put); !errors.Is(err, errDuplicate) {
			return a, err
		}
		// An entry that was to be new is there. To put nothing tells what it is, and makes that durable.
		if a, err := e.swap(ctx, expect, nil); err != nil || !a.Swapped {
			return a, err
		}
	}
	return a, err
}

func (e *Engine) swap(ctx context.Context, expect, put []store.Entry) (store.Answer, error) {
	names := make([]string, len(expect))
	for i, entry := range expect {
		names[i] = entry.Name
	}
	text, args := swapSQL(expect, put)
	find, findArgs := findSQL(names)
	r, err := e.call(ctx, "swap", beginSQL+text+countSQL+find+" AND NOT @randflake_ok", append(args, findArgs...), names)
	if r.fresh {
		return store.Answer{}, e.explain(ctx, "swap", errors.New("outcome unknown: the table was made this very second, and another in its place would look the same: try again"))
	} else if r.Swapped {
		r.Named = slices.Clone(expect)
	}
	return r.Answer, err
}

// swapSQL locks what is expected, in the order of names, for sharing if it is not put, and puts if all is so. One that
// is to be absent has its gap locked; if it is put as well, its insertion fails where it is there.
func swapSQL(expect, put []store.Entry) (text string, args []any) {
	puts, there := map[string][]byte{}, map[string]bool{} // false for those to be absent
	for _, entry := range put {
		puts[entry.Name] = entry.Value
	}
	text = "SET @randflake_ok = 1"
	for _, entry := range slices.SortedFunc(slices.Values(expect), byName) {
		before, again := there[entry.Name]
		there[entry.Name] = entry.Value != nil && (before || !again)
		lock := map[bool]string{true: " FOR UPDATE)", false: " LOCK IN SHARE MODE)"}[puts[entry.Name] != nil]
		if entry.Value != nil {
			text, args = text+" AND (SELECT COUNT(*) FROM @table WHERE name = ? AND value = ?"+lock, append(args, entry.Name, entry.Value)
		} else if puts[entry.Name] == nil {
			text, args = text+" AND NOT (SELECT COUNT(*) FROM @table WHERE name = ?"+lock, append(args, entry.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(puts)) {
		if isThere, expected := there[name]; isThere {
			text, args = text+";\nUPDATE @table SET value = ? WHERE name = ? AND @randflake_ok", append(args, puts[name], name)
		} else if expected {
			text, args = text+";\n"+insertSQL, append(args, name, puts[name])
		} else {
			text, args = text+";\n"+insertSQL+" ON DUPLICATE KEY UPDATE value = ?", append(args, name, puts[name], puts[name])
		}
	}
	return text + ";\n", args
}

var errDuplicate = &mysql.MySQLError{Number: 1062} // errors.Is goes by the number

// call makes a call, again where that is certain to have changed nothing, and checks what the server reports.
func (e *Engine) call(ctx context.Context, what, text string, args []any, names []string) (report, error) {
	text = strings.ReplaceAll(text+";\n"+e.report+";\nCOMMIT", "@table", e.config.Table)
	for began := time.Now(); !e.closed.Load(); time.Sleep(rand.N(20 * time.Millisecond)) {
		r, answered, err := e.send(ctx, text, append(args, e.config.Table), names)
		if err == nil {
			err = e.judge(ctx, &r)
		} else if answered {
			err = fmt.Errorf("outcome unknown: %w", err)
		}
		if err == nil {
			return r, nil
		}
		// Deadlock, lock wait timeout, record changed since it was read; ErrBadConn says that nothing was sent.
		server := new(mysql.MySQLError)
		again := errors.Is(err, driver.ErrBadConn) || errors.As(err, &server) && slices.Contains([]uint16{1213, 1205, 1020}, server.Number)
		if answered || !again || time.Since(began) > patience {
			return report{}, e.explain(ctx, what, err)
		}
	}
	return report{}, e.explain(ctx, what, fs.ErrClosed)
}

// send sends one request and takes its answers. An error before the first comes before COMMIT as well, so nothing was
// changed. Whatever fails, no transaction stays open.
func (e *Engine) send(ctx context.Context, text string, args []any, names []string) (r report, answered bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return r, false, err
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, text, args...)
	if answered = err == nil; answered {
		err = errors.Join(r.take(rows, names), rows.Err(), rows.Close())
	}
	if err != nil {
		if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		}
	}
	return r, answered, err
}

// Prepare implements [store.Engine]. It waits until no other table could be made in the same second.
func (e *Engine) Prepare(ctx context.Context) (err error) {
	for fresh := true; fresh && err == nil && !e.closed.Load(); time.Sleep(20 * time.Millisecond) {
		err = e.db.QueryRowContext(ctx, "SELECT "+freshSQL+aboutTable, e.config.Table).Scan(&fresh)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = e.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+e.config.Table+createSQL)
		}
	}
	return e.explain(ctx, "prepare", err)
}

// Close implements [store.Engine]. A database that New was given stays open.
func (e *Engine) Close() error {
	if !e.closed.Swap(true) && e.ownsDB {
		return e.db.Close()
	}
	return nil
}

// String says which table, in which database of which server.
func (e *Engine) String() string {
	return fmt.Sprintf("table %q in mysql://%s", e.config.Table, e.config.where)
}

var (
	errReadOnly   = fmt.Errorf("%w: server is read-only: connect to the primary", store.ErrUnsafe)
	errPrivileges = errors.New("the user needs SELECT, INSERT and UPDATE on the table, and CREATE to make it")

	// meanings are what errors of the server, by number, mean to a store.
	meanings = map[uint16]error{
		1146: store.ErrNoStore,                                  // no such table
		1290: errReadOnly, 1792: errReadOnly, 1836: errReadOnly, // server, transaction, mode
		1034: store.ErrCorrupt, 1194: store.ErrCorrupt, 1712: store.ErrCorrupt, // index, table
		1044: errPrivileges, 1142: errPrivileges, 1143: errPrivileges,
		1064: errors.New("the driver needs multiStatements=true and interpolateParams=true"), // syntax error
	}
)

// explain wraps an error with what was tried, and what it means. The network may time out a moment before the context.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	if deadline, ok := ctx.Deadline(); err != nil && ok && time.Until(deadline) <= 0 {
		<-ctx.Done()
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	server := new(mysql.MySQLError)
	if e.closed.Load() {
		err = fs.ErrClosed
	} else if errors.As(err, &server) && meanings[server.Number] != nil {
		err = fmt.Errorf("%w: %w", meanings[server.Number], err)
	}
	if err != nil {
		err = fmt.Errorf("mysqlstore: %s: %s: %w", what, e, err)
	}
	return err
}
