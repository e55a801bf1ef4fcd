// Package engine runs what leases are stored in, a directory or servers, each as its operator would, and
// opens stores on it, each as a program would.
package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/randflake/randflake/chaos/internal/broken"
	"github.com/randflake/randflake/lease"
)

// An Engine is running, for one run of one fault, and holds a store that was created for a new secret.
type Engine interface {
	// URL is where workers find the store.
	URL() string

	// Stop ends all that runs. It is called once.
	Stop()
}

// A Server is an Engine that can die.
type Server interface {
	Engine

	// Crash kills the server with SIGKILL, and Restart starts it again on the same data.
	Crash() error
	Restart() error
}

// Linked is an Engine that workers reach over a network.
type Linked interface {
	Engine

	// Link is the only way to it.
	Link() *Link
}

// Copied is an Engine whose data can be copied.
type Copied interface {
	Engine

	// Copy copies the data, as they are at some moment, and Restore puts that in their place.
	Copy() error
	Restore() error
}

var (
	_ Server = (*Memory)(nil)
	_ Server = (*Etcd)(nil)
	_ Server = (*Redis)(nil)
	_ Server = (*Postgres)(nil)
	_ Copied = (*File)(nil)
	_ Copied = (*Etcd)(nil)
	_ Copied = (*Redis)(nil)
	_ Linked = (*Etcd)(nil)
	_ Linked = (*Redis)(nil)
	_ Linked = (*Postgres)(nil)
)

// A Start starts an engine in dir, which is empty, and creates a store in it.
type Start func(ctx context.Context, dir string, rules lease.Rules) (Engine, error)

// Clocks are the clocks of a store that are injected; nil stands for a real one, with nothing injected.
type Clocks struct {
	Process func() time.Time // for a store that asks the process's clock
	Server  func() time.Time // for a store that asks its server's
}

// Open opens the store at an Engine's URL.
func Open(ctx context.Context, url string, clocks Clocks) (lease.Store, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	switch scheme {
	case "file":
		return openFile(rest, clocks)
	case "etcd":
		return openEtcd(ctx, url, clocks)
	case "redis":
		return openRedis(ctx, url, clocks)
	case "postgres":
		return openPostgres(ctx, url, clocks)
	case "unix":
		return broken.Dial(rest), nil
	}
	return nil, fmt.Errorf("engine: store of unknown scheme %q", scheme)
}

// notNil makes of what a constructor returned an interface that is nil when there was an error.
func notNil[S lease.Store](store S, err error) (lease.Store, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}
