package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/etcdstore"
	"github.com/randflake/randflake/store/filestore"
	"github.com/randflake/randflake/store/mysqlstore"
	"github.com/randflake/randflake/store/pgstore"
	"github.com/randflake/randflake/store/redisstore"
)

// An engine is what keeps leases, and is known by the schemes of its URLs.
type engine struct {
	schemes []string // lower case

	// open opens the store at url. It fails with store.ErrNoStore where there is none.
	open func(ctx context.Context, url string, options ...store.Option) (*store.Store, error)

	// create makes a store at url. It fails with fs.ErrExist where there is one.
	create func(ctx context.Context, url string, options ...store.Option) (*store.Store, error)
}

// directories is the engine that needs no server. Its places are names of directories.
func directories() engine {
	return engine{
		schemes: []string{"file"},
		open: func(_ context.Context, dir string, options ...store.Option) (*store.Store, error) {
			return filestore.Open(dir, options...)
		},
		create: func(_ context.Context, dir string, options ...store.Option) (*store.Store, error) {
			return filestore.Create(dir, options...)
		},
	}
}

// servers are the engines that leases can be kept in, beside directories.
func servers() []engine {
	return []engine{
		{[]string{"etcd", "etcds"}, etcdstore.Open, etcdstore.Create},
		{[]string{"redis", "rediss"}, redisstore.Open, redisstore.Create},
		{[]string{"postgres", "postgresql"}, pgstore.Open, pgstore.Create},
		{[]string{"mysql"}, mysqlstore.Open, mysqlstore.Create},
	}
}

// A place is where a store is or will be.
type place struct {
	engine
	dir string // where it is a directory
	url string // where it is none
}

// name returns the place as its engine takes it.
func (p place) name() string { return p.dir + p.url }

// String returns the place as messages may name it: without its password.
func (p place) String() string { return redactURL(p.name()) }

// placeOf finds out what the name of a store means. What it says never repeats the name, which may hold
// a password where nobody looks for one.
func (t *tool) placeOf(name string) (place, error) {
	scheme, rest := t.splitScheme(name)
	switch scheme {
	case "":
		return place{engine: directories(), dir: name}, nil
	case "file": // nothing is escaped in it
		dir := strings.TrimPrefix(rest, "//")
		if dir == "" || dir != rest && dir[0] != '/' {
			return place{}, errors.New("store file:...: want file:DIR, or file:// and a full name")
		}
		return place{engine: directories(), dir: dir}, nil
	}
	if !strings.HasPrefix(rest, "//") {
		return place{}, fmt.Errorf("store %s: without slashes: want %s://... for a server, ./%s:... for a directory", scheme, scheme, scheme)
	}
	if err := store.CheckURL(scheme + ":" + rest); err != nil {
		return place{}, fmt.Errorf("store %s://...: %w", scheme, err)
	}
	for _, e := range t.engines {
		if slices.Contains(e.schemes, scheme) {
			return place{engine: e, url: scheme + ":" + rest}, nil
		}
	}
	return place{}, fmt.Errorf("store %s://...: no such kind of store: want a directory or one of %s", scheme, strings.Join(t.schemes(), ", "))
}

// schemes returns what can stand before the colon in the name of a store.
func (t *tool) schemes() []string {
	all := directories().schemes
	for _, e := range t.engines {
		all = append(all, e.schemes...)
	}
	return all
}

// splitScheme splits a URL at its first colon and returns the scheme in lower case. It is empty where
// name is no URL: one letter and a colon are how names begin on Windows, and many systems allow colons
// in names.
func (t *tool) splitScheme(name string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(name, ":")
	scheme = strings.ToLower(scheme)
	known := slices.Contains(t.schemes(), scheme)
	if !found || len(scheme) < 2 || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" || !known && !strings.HasPrefix(rest, "//") {
		return "", name
	}
	return scheme, rest
}
