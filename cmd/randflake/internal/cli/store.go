package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/lease/file"
)

// Servers has the functions that only the full program has, because they take more than a minute to compile.
type Servers struct {
	// Open and Create open and create stores by their names.
	Open, Create func(ctx context.Context, name string, options ...store.Option) (*store.Space, error)

	// DDL returns the statements that create a schema in PostgreSQL. Its name is schema, or comes from the URL of a store.
	DDL func(url, schema string) (string, error)

	// Man writes man pages into a directory.
	Man func(root *cobra.Command, version, dir string) error
}

// A location is where a store is or will be.
type location struct {
	store.Location
	servers *Servers // nil for a directory
}

// needServers returns the functions for servers. In the light program it starts the full program, and returns only if
// that can't be started.
func (t *tool) needServers() (*Servers, error) {
	if t.servers != nil {
		return t.servers, nil
	}
	return nil, t.handOver()
}

// open opens the store. If there is no store it fails with store.ErrNoStore.
func (l location) open(ctx context.Context, options ...store.Option) (*store.Space, error) {
	if l.servers == nil {
		return file.Open(l.Dir, options...)
	}
	return l.servers.Open(ctx, l.URL, options...)
}

// create makes a store. If there is a store already, it fails with fs.ErrExist.
func (l location) create(ctx context.Context, options ...store.Option) (*store.Space, error) {
	if l.servers == nil {
		return file.Create(l.Dir, options...)
	}
	return l.servers.Create(ctx, l.URL, options...)
}
