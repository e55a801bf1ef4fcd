package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

// An Engine is what keeps leases, and is known by the schemes of its URLs.
type Engine struct {
	Schemes []string // lower case

	// Open opens the store at url. It fails with store.ErrNoStore where there is none.
	Open func(ctx context.Context, url string, options ...store.Option) (*store.Store, error)

	// Create makes a store at url. It fails with fs.ErrExist where there is one.
	Create func(ctx context.Context, url string, options ...store.Option) (*store.Store, error)

	// DDL returns what makes the schema of a store, given by the store's URL or else by its own
	// name, or by none of them. It is nil for engines without a schema.
	DDL func(url, schema string) (string, error)
}

// directories is the engine that needs no server. Its places are names of directories.
func directories() Engine {
	return Engine{
		Schemes: []string{"file"},
		Open: func(_ context.Context, dir string, options ...store.Option) (*store.Store, error) {
			return filestore.Open(dir, options...)
		},
		Create: func(_ context.Context, dir string, options ...store.Option) (*store.Store, error) {
			return filestore.Create(dir, options...)
		},
	}
}

// A place is where a store is or will be.
type place struct {
	Engine
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
		return place{Engine: directories(), dir: name}, nil
	case "file":
		dir, err := directoryOf(rest)
		return place{Engine: directories(), dir: dir}, err
	}
	if !strings.HasPrefix(rest, "//") {
		return place{}, fmt.Errorf("store %s: without slashes: want %s://... for a server, ./%s:... for a directory", scheme, scheme, scheme)
	}
	if err := store.CheckURL(scheme + ":" + rest); err != nil {
		return place{}, fmt.Errorf("store %s://...: %w", scheme, err)
	}
	for _, engine := range t.engines {
		if slices.Contains(engine.Schemes, scheme) {
			return place{Engine: engine, url: scheme + ":" + rest}, nil
		}
	}
	return place{}, fmt.Errorf("store %s://...: no such kind of store: want a directory or one of %s", scheme, strings.Join(t.schemes(), ", "))
}

// schemes returns what can stand before the colon in the name of a store.
func (t *tool) schemes() []string {
	all := directories().Schemes
	for _, engine := range t.engines {
		all = append(all, engine.Schemes...)
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

// directoryOf returns the directory that stands after file:, where nothing is escaped.
func directoryOf(rest string) (string, error) {
	dir := rest
	if after, found := strings.CutPrefix(rest, "//"); found {
		dir = strings.TrimPrefix(after, "localhost")
		if !strings.HasPrefix(dir, "/") {
			return "", errors.New("store file://...: names another machine: want file:DIR, or file:/// and the rest of a full name")
		}
	}
	if drive := strings.TrimPrefix(dir, "/"); filepath.VolumeName(drive) != "" {
		dir = drive // on Windows file:///C:/x is C:/x
	}
	if dir == "" {
		return "", errors.New("store file: names no directory: want file:DIR")
	}
	return dir, nil
}
