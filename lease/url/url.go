// Package url opens a store by its name: a directory or a URL.
//
//	s, err := url.Open(ctx, os.Getenv("RANDFLAKE_STORE"))
//
// [store.ParseLocation] says what names mean; the package of each engine, which parameters its URLs take. This package
// compiles the clients of all engines: a program that needs one of them only imports that one's package.
package url

import (
	"context"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/etcd"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/mariadb"
	"github.com/randflake/randflake/lease/postgres"
	"github.com/randflake/randflake/lease/redis"
	"github.com/randflake/randflake/lease/sqlite"
)

// begin is the Open or the Create of an engine's package.
type begin = func(ctx context.Context, where string, options ...store.Option) (*store.Space, error)

// engines are what there is for each [store.Location.Engine].
var engines = map[string]struct {
	check        func(where string) error
	open, create begin
}{
	"file":       {func(string) error { return nil }, inDirectory(file.Open), inDirectory(file.Create)},
	"SQLite":     {sqlite.Check, sqlite.Open, sqlite.Create},
	"etcd":       {etcd.Check, etcd.Open, etcd.Create},
	"Redis":      {redis.Check, redis.Open, redis.Create},
	"PostgreSQL": {postgres.Check, postgres.Open, postgres.Create},
	"MariaDB":    {mariadb.Check, mariadb.Open, mariadb.Create},
}

func inDirectory(f func(dir string, options ...store.Option) (*store.Space, error)) begin {
	return func(_ context.Context, dir string, options ...store.Option) (*store.Space, error) {
		return f(dir, options...)
	}
}

// Parse reads the name of a store, and checks the parameters of a URL, with the files that they name. It connects to
// nothing. No error shows the name, which may hold a password.
func Parse(name string) (store.Location, error) {
	l, err := store.ParseLocation(name)
	if err != nil {
		return l, err
	}
	return l, engines[l.Engine()].check(l.Dir + l.URL)
}

// Open opens the store of that name, as [store.Open] does.
func Open(ctx context.Context, name string, options ...store.Option) (*store.Space, error) {
	l, err := store.ParseLocation(name)
	if err != nil {
		return nil, err
	}
	return engines[l.Engine()].open(ctx, l.Dir+l.URL, options...)
}

// Create makes a new store of that name and opens it, as [store.Create] does. The parent of a directory must be
// there.
func Create(ctx context.Context, name string, options ...store.Option) (*store.Space, error) {
	l, err := store.ParseLocation(name)
	if err != nil {
		return nil, err
	}
	return engines[l.Engine()].create(ctx, l.Dir+l.URL, options...)
}

// Redact returns text without the passwords in it: those of URLs and of what drivers take in their place.
func Redact(text string) string { return store.Redact(text) }
