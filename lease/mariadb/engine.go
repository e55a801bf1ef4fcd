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
	closed   atomic.Bool
	examined atomic.Pointer[string] // the lineage of the server that was examined last
}

const createSQL = ` (name VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
	value MEDIUMBLOB NOT NULL, calls BIGINT UNSIGNED NOT NULL) ENGINE = InnoDB`

// Read implements [store.Engine].
func (e *Engine) Read(ctx context.Context, names []string, page store.Page) (store.Answer, error) {
	return e.call(ctx, "read", "ONLY; SET @randflake_ok = 0", nil, names, page)
}

// Swap implements [store.Engine].
func (e *Engine) Swap(ctx context.Context, expect, put []store.Entry) (a store.Answer, err error) {
	names := make([]string, len(expect))
	for i, entry := range expect {
		names[i] = entry.Name
	}
	text, args := swapSQL(expect, put, false)
	a, err = e.call(ctx, "swap", text, args, names, store.Page{})
	if errors.Is(err, &mysql.MySQLError{Number: 1062}) { // an entry that was to be new is there: nothing was changed
		text, args = swapSQL(expect, put, true)
		a, err = e.call(ctx, "swap", text, args, names, store.Page{})
	}
	if a.Swapped {
		a.Named = slices.Clone(expect)
	}
	return a, err
}

func byName(x, y store.Entry) int { return strings.Compare(x.Name, y.Name) }

// swapSQL locks what is expected, in the order of names, for sharing if it is not put, and puts if all is so. What is to
// be absent has its gap locked. Where it is put as well that makes deadlocks with others that put there, so it is only done
// with lockNew; without, its insertion fails where it is there.
func swapSQL(expect, put []store.Entry, lockNew bool) (text string, args []any) {
	locks, inserts, absent := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, entry := range put {
		locks[entry.Name], inserts[entry.Name] = " FOR UPDATE", entry.Value != nil
	}
	text = "WRITE; SET @randflake_ok = 1"
	for _, entry := range slices.SortedFunc(slices.Values(expect), byName) {
		absent[entry.Name] = entry.Value == nil
		if lock := locks[entry.Name]; !inserts[entry.Name] || entry.Value != nil || lockNew {
			text += " AND ? = (SELECT COUNT(*) FROM @table WHERE name = ? AND value = COALESCE(?, value)" + cmp.Or(lock, " LOCK IN SHARE MODE") + ")"
			args = append(args, entry.Value != nil, entry.Name, entry.Value)
		}
	}
	for _, entry := range slices.SortedFunc(slices.Values(put), byName) {
		if entry.Value == nil {
			text, args = text+";\nDELETE FROM @table WHERE name = ? AND @randflake_ok", append(args, entry.Name)
			continue
		}
		text, args = text+";\nINSERT INTO @table (name, value, calls) SELECT ?, ?, 0 FROM DUAL WHERE @randflake_ok", append(args, entry.Name, entry.Value)
		if !absent[entry.Name] {
			text, args = text+" ON DUPLICATE KEY UPDATE value = ?", append(args, entry.Value)
		}
	}
	// The swap is counted after all other locks, in a row that is seldom another connection's as well.
	return text + `;
		INSERT INTO @table (name, value, calls) SELECT CONCAT('!', CONNECTION_ID() % 64), '', 1 FROM DUAL WHERE @randflake_ok
		ON DUPLICATE KEY UPDATE calls = calls + 1`, args
}

// call makes a call, again where that is certain to have changed nothing, and examines a server that was not yet.
// Reads without locks are all of one moment. Rows that count have names before "-", and entries have not.
func (e *Engine) call(ctx context.Context, what, text string, args []any, names []string, page store.Page) (store.Answer, error) {
	text = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION READ " + text +
		";\nSELECT 0, name, value FROM @table WHERE NOT @randflake_ok AND name IN (''" + strings.Repeat(", ?", len(names)) + ")"
	for _, name := range names {
		args = append(args, name)
	}
	if page.Limit > 0 {
		text += " UNION ALL (SELECT 1, name, value FROM @table WHERE name >= ? AND name < ? ORDER BY name LIMIT ?)"
		args = append(args, max(page.From, "-"), page.To, page.Limit)
	}
	text, args = strings.ReplaceAll(text+";\n"+reportSQL+";\nCOMMIT", "@table", e.config.Table), append(args, e.config.Table)
	for began := time.Now(); !e.closed.Load(); time.Sleep(rand.N(20 * time.Millisecond)) {
		a, answered, err := e.send(ctx, text, args, names)
		if last := e.examined.Load(); err == nil && (last == nil || *last != a.Lineage) {
			if _, err = e.examine(ctx); err == nil {
				e.examined.Store(&a.Lineage)
			}
		}
		// Deadlock, lock wait timeout; ErrBadConn says that nothing was sent.
		again := errors.Is(err, &mysql.MySQLError{Number: 1213}) || errors.Is(err, &mysql.MySQLError{Number: 1205}) || errors.Is(err, driver.ErrBadConn)
		if answered || !again || time.Since(began) > 10*time.Second {
			return a, e.explain(ctx, what, err)
		}
	}
	return store.Answer{}, e.explain(ctx, what, fs.ErrClosed)
}

// send sends one request and takes its answers; nothing is committed before the first. No transaction stays open.
func (e *Engine) send(ctx context.Context, text string, args []any, names []string) (a store.Answer, answered bool, err error) {
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return a, false, err
	}
	defer conn.Close()
	rows, err := conn.QueryContext(ctx, text, args...)
	if answered = err == nil; answered {
		a, err = take(rows, names)
		for rows.NextResultSet() { // the last is COMMIT's; Close would wait for it without heeding ctx
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil {
		a = store.Answer{}
		if _, failed := conn.ExecContext(ctx, "ROLLBACK"); failed != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		}
	}
	return a, answered, err
}

// Prepare implements [store.Engine]. A new table is used from the next second on, as the lineage goes by seconds.
func (e *Engine) Prepare(ctx context.Context) error {
	if _, err := e.Read(ctx, nil, store.Page{}); !errors.Is(err, store.ErrNoStore) {
		return err
	}
	_, err := e.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+e.config.Table+createSQL+"; DO SLEEP(1.01 - MICROSECOND(NOW(6)) / 1e6)")
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

// meanings are what errors of the server, by number, mean to a store.
var meanings = map[uint16]error{
	1146: store.ErrNoStore, 1044: fs.ErrPermission, 1142: fs.ErrPermission, // no such table; no privilege for database, table
	1049: errors.New("the database is missing: make it first, with CREATE DATABASE"),
	1290: fmt.Errorf("%w: server is read-only: connect to the primary", store.ErrUnsafe),
	1034: store.ErrCorrupt, 1194: store.ErrCorrupt, 1712: store.ErrCorrupt, // index, table
	1064: errors.New("the driver needs multiStatements=true and interpolateParams=true"), // syntax error
}

// explain wraps an error with what was tried, and what it means. The network may time out a moment before the context.
func (e *Engine) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= 0 {
		<-ctx.Done()
	}
	server := new(mysql.MySQLError)
	errors.As(err, &server)
	if meaning := cmp.Or(ctx.Err(), meanings[server.Number]); e.closed.Load() {
		err = fs.ErrClosed
	} else if meaning != nil && !errors.Is(err, meaning) {
		err = fmt.Errorf("%w: %w", meaning, err)
	}
	return fmt.Errorf("mysqlstore: %s: %s: %w", what, e, err)
}
