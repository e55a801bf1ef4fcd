// Package engines starts what engines keep their entries in: servers of this program's own, and a directory.
package engines

import (
	"context"

	"github.com/randflake/randflake/store"
)

// An Engine is one of those that we have, or a server beside them.
type Engine struct {
	Name string

	// Start starts a server in a directory that is not there yet. Without its programs the error wraps exec.ErrNotFound.
	Start func(dir string) (Server, error)

	// Create makes a space at the URL of a server that runs. It is nil for a server that is not durable.
	Create func(ctx context.Context, url string, options ...store.Option) (*store.Space, error)
}

// A Server runs, or is a directory, and has an address as our engines take it.
type Server interface {
	URL() string
	Kill() error
}
