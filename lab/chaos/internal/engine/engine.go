// Package engine runs what a space is stored in, a directory, a file or servers, or replicas of the
// service before those, each as its operator would.
package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// An Engine runs for one run of one fault. What it can't do is nil.
type Engine struct {
	Name string
	URL  string // where workers find the space

	Link          *Link        // the only way to the server
	Kill, Start   func() error // the server: SIGKILL, and again on the same data
	Pause, Resume func() error // SIGSTOP and SIGCONT

	Copy, Restore func() error // the data, as they are at some moment, and that in their place
	Wipe          func() error // remove all data

	FillDisk, FreeDisk func() error // of an engine on a small disk

	Follow, Promote func() error // begin a copy of the server that gets no newer, and make that the server instead

	KillLeader func() error // of a cluster
	KillPooler func() error // and start it again

	ServerTime bool   // the space goes by the server's clock
	Clock      *Clock // that, if it was made to be stepped

	Replicas []*Replica // of the service, which workers ask

	setup Setup
	stops []func()
	dirs  int // that fresh has named
}

// A Setup says what to start an engine with.
type Setup struct {
	Dir        string // empty
	Limits     lease.Limits
	Check      [8]byte // of the run's secret
	StepClock  bool    // the server's clock is to be stepped
	SmallDisk  bool    // on a disk of its own, that can be filled
	Members    int     // of a cluster, if not one
	Pooler     bool    // before the server
	Randflaked string  // the program of replicas

	Snapshots   bool // copies of etcd are snapshots, each of which is restored as another cluster
	Synchronous bool // PostgreSQL waits for standbys, and the space is told that promotions lose nothing
}

// A start starts an engine.
type start func(e *Engine) error

// starts are the engines by their names.
var starts = map[string]start{
	"file": startFile, "sqlite": startSQLite, "etcd": startEtcd, "redis": startRedis, "postgres": startPostgres, "mariadb": startMariaDB, "s3": startS3,
	service + "etcd": startEtcd, service + "postgres": startPostgres,
}

// service begins the names of engines that are another one with replicas of the service before it.
const service = "service-"

// Names are the engines, in the order of tables.
var Names = []string{"file", "sqlite", "etcd", "redis", "postgres", "mariadb", "s3", "service-etcd", "service-postgres"}

// Start starts an engine, and creates a space in it. Whatever it returns, the Engine must be stopped.
func Start(ctx context.Context, name string, s Setup) (*Engine, error) {
	e := &Engine{Name: name, setup: s}
	if err := starts[name](e); err != nil {
		return e, err
	}
	if err := e.Create(ctx, true); err != nil {
		return e, err
	}
	if strings.HasPrefix(name, service) {
		return e, e.serveReplicas()
	}
	return e, nil
}

// Another starts an engine beside e, without a space. Whatever it returns, the other Engine must be
// stopped, which stops e too.
func (e *Engine) Another(name string) (*Engine, error) {
	other := &Engine{Name: name, setup: e.setup}
	other.setup.Dir = e.fresh("another")
	other.onStop(e.Stop)
	if err := os.Mkdir(other.setup.Dir, 0o755); err != nil {
		return other, err
	}
	return other, starts[name](other)
}

// Stop ends all that runs.
func (e *Engine) Stop() {
	for i := range e.stops {
		e.stops[len(e.stops)-1-i]()
	}
}

// fresh returns the path of a directory that does not exist yet: data is copied and replaced more than once.
func (e *Engine) fresh(name string) string {
	e.dirs++
	return filepath.Join(e.setup.Dir, fmt.Sprintf("%s-%d", name, e.dirs))
}

func (e *Engine) onStop(f func()) { e.stops = append(e.stops, f) }

// Create creates the space: as a new one, or as one that had all its data lost.
func (e *Engine) Create(ctx context.Context, isNew bool) error {
	s, err := url.Create(ctx, e.URL, lease.Config{Limits: e.setup.Limits, Check: e.setup.Check, New: isNew})
	if err != nil {
		return err
	}
	return s.Close()
}

// Losses returns how often the space took data for lost, and the first second that it grants after that.
func (e *Engine) Losses(ctx context.Context) (losses int, floor time.Time, err error) {
	space, err := url.Open(ctx, e.URL, lease.Config{})
	if err != nil {
		return 0, time.Time{}, err
	}
	defer space.Close()
	info, err := space.Info(ctx)
	return info.Losses, info.Floor, err
}

// A Link is the only way from workers to a server.
type Link struct {
	*servers.Proxy
	server string
}

// nowhere is an address where nobody listens.
const nowhere = "127.0.0.1:1"

func (e *Engine) link(server string) (*Link, error) {
	proxy, err := servers.StartProxy(server)
	if err == nil {
		e.onStop(proxy.Close)
	}
	return &Link{proxy, server}, err
}

// Refuse cuts all connections, and leads new ones nowhere.
func (l *Link) Refuse() { l.Redirect(nowhere) }

// Heal undoes Refuse and Mute. A connection whose replies were lost must not get later ones.
func (l *Link) Heal() {
	l.Redirect(nowhere)
	l.Mute(false)
	l.Redirect(l.server)
}

// Lead leads to another server from now on.
func (l *Link) Lead(server string) {
	l.server = server
	l.Heal()
}
