// Package engine runs what leases are stored in, a directory or servers, or replicas of a service before those, each as its
// operator would, and opens stores on it, each as a program would.
package engine

import (
	"context"

	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storeurl"
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

// Stalled is an Engine whose server can stand still.
type Stalled interface {
	Engine

	// Pause stops the server's processes, with SIGSTOP, and Resume lets them go on.
	Pause() error
	Resume() error
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

// Rows is an Engine whose rows, keys or files can be put back one by one, without anything else that changes with a backup.
type Rows interface {
	Engine

	// SaveRows keeps the rows as they are under a name, and PutRows puts them in the place of those that are there. The
	// server and its clients run on.
	SaveRows(name string) error
	PutRows(name string) error
}

// Clocked is an Engine whose server tells the time.
type Clocked interface {
	Engine

	// Clock is what the server goes by, if that was made to be stepped, or nil.
	Clock() *Clock
}

var (
	_ Server  = (*Memory)(nil)
	_ Copied  = (*Memory)(nil)
	_ Clocked = (*Memory)(nil)
	_ Copied  = (*File)(nil)
	_ Copied  = (*SQLite)(nil)
	_ Copied  = (*Etcd)(nil)
	_ Copied  = (*MySQL)(nil)
	_ Copied  = (*Redis)(nil)
	_ Copied  = (*Postgres)(nil)
	_ Rows    = (*Memory)(nil)
	_ Rows    = (*File)(nil)
	_ Rows    = (*SQLite)(nil)
	_ Rows    = (*Etcd)(nil)
	_ Rows    = (*MySQL)(nil)
	_ Rows    = (*Redis)(nil)
	_ Rows    = (*Postgres)(nil)
)

// A Setup says what to start an engine with.
type Setup struct {
	Dir     string // empty
	Limits  store.Limits
	Keys    store.Keys // of the run's secret
	Clocked bool       // the server's clock is to be stepped
	Bug     broken.Bug // of a Memory that loses data

	Randflaked string // the program of a Remote's replicas
}

// A Start starts an engine, and creates a store in it.
type Start func(context.Context, Setup) (Engine, error)

// connect makes handles on engines, for what stands between engine and store.
var connect = map[string]func(ctx context.Context, url string) (store.Engine, error){
	"file": connectFile, "SQLite": connectSQLite, "etcd": connectEtcd, "Redis": connectRedis, "MariaDB": connectMySQL, "PostgreSQL": connectPostgres,
}

// Open opens the store at an Engine's URL, as a program does, or on an engine with a planted bug.
func Open(ctx context.Context, url string, bug broken.Bug, options ...store.Option) (*store.Space, error) {
	if bug == broken.TrustCopies {
		options = append(options, store.TrustRecovery())
	}
	if !bug.InEngine() && !isMemory(url) {
		return storeurl.Open(ctx, url, options...)
	}
	e, err := Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	if bug.InEngine() {
		e = bug.Plant(e)
	}
	s, err := store.Open(ctx, e, options...)
	if err != nil {
		e.Close()
		return nil, err
	}
	return s, nil
}

// Connect returns a handle on an Engine's URL, for what stands between it and a store.
func Connect(ctx context.Context, url string) (store.Engine, error) {
	if isMemory(url) {
		return connectMemory(url), nil
	}
	l, err := store.ParseLocation(url)
	if err != nil {
		return nil, err
	}
	return connect[l.Engine()](ctx, url)
}

// Create creates a store at an Engine's URL.
func Create(ctx context.Context, url string, options ...store.Option) error {
	create := storeurl.Create
	if isMemory(url) {
		create = createMemory
	}
	s, err := create(ctx, url, options...)
	if err != nil {
		return err
	}
	return s.Close()
}

// made are the options of a store that is created, with all keys of the secret.
func made(s Setup) []store.Option {
	return []store.Option{store.WithLimits(s.Limits), store.ForSecret(s.Keys)}
}

// forNew are the options of a store for a new secret.
func forNew(s Setup) []store.Option { return append(made(s), store.ForNewSecret()) }
