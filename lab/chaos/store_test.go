package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/randflake/randflake/internal/test/servers"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/url"
)

// A store is what a space is kept in, a directory, a file or servers, or replicas of the service before those, each as
// its operator would run it. It is for one run of one fault. What it can't do is nil.
type store struct {
	name   string // of its engine
	dir    string
	setup  setup
	config lease.Config // of the space
	URL    string       // where workers find the space

	Link          *link        // the only way to the server
	Kill, Start   func() error // the server: SIGKILL, and again on the same data
	Pause, Resume func() error // SIGSTOP and SIGCONT

	Copy, Restore func() error // the data, as they are at some moment, and that in their place
	Wipe          func() error // remove all data

	FillDisk, FreeDisk func() error // of a store on a small disk

	KillLeader func() error // of a cluster
	KillPooler func() error // and start it again

	ServerTime bool   // the space goes by the server's clock
	Clock      *clock // that, if it was made to be stepped

	Replicas []*replica // of the service, which workers ask

	stops []func()
	dirs  int // that fresh has named
}

// A setup is how a fault wants its store.
type setup struct {
	stepClock bool   // the server's clock is to be stepped
	smallDisk bool   // on a disk of its own, that can be filled
	members   int    // of a cluster, if not one
	pooler    bool   // before the server
	copies    copies // what they are
	trust     bool   // the space trusts other incarnations
}

// Copies are what takes the place of the data when these are lost.
type copies int

const (
	backups     copies = iota // of files, dumps, or of etcd a snapshot that is restored as the same cluster
	snapshots                 // of etcd, each of which is restored as another cluster
	standbys                  // that hear no more of the primary, and are promoted
	synchronous               // standbys that PostgreSQL waits for, so that promotions lose nothing
)

// starts are the engines by their names.
var starts = map[string]func(*store){
	"file":                   startFile,
	"sqlite":                 startSQLite,
	"etcd":                   startEtcd,
	"redis":                  startRedis,
	"postgres":               startPostgres,
	"mariadb":                startMariaDB,
	"s3":                     startS3,
	overService + "etcd":     startEtcd,
	overService + "postgres": startPostgres,
}

// overService begins the names of those that have replicas of the service before them.
const overService = "service-"

// start starts the store, and creates a space in it. Whatever it returns, the store must be stopped.
func (s *store) start(ctx context.Context) {
	starts[s.name](s)
	s.config.NeverUsed = true
	s.config.Trust = s.setup.trust
	must(s.create(ctx))
	s.config.NeverUsed = false
	if strings.HasPrefix(s.name, overService) {
		s.serveReplicas()
	}
}

// another returns a store beside s, which is not started. To stop it stops s too.
func (s *store) another(name string) *store {
	other := &store{name: name, dir: s.fresh("another"), config: s.config}
	other.onStop(s.stop)
	return other
}

// stop ends all that runs.
func (s *store) stop() {
	for i := range s.stops {
		s.stops[len(s.stops)-1-i]()
	}
}

func (s *store) onStop(f func()) { s.stops = append(s.stops, f) }

// fresh returns the path of a directory that does not exist yet: data is copied and replaced more than once.
func (s *store) fresh(name string) string {
	s.dirs++
	return filepath.Join(s.dir, fmt.Sprintf("%s-%d", name, s.dirs))
}

// create creates the space: at first as a new one, later as one that had all its data lost.
func (s *store) create(ctx context.Context) error {
	space, err := url.Create(ctx, s.URL, s.config)
	if err != nil {
		return err
	}
	return space.Close()
}

// losses returns how often the space took data for lost, and the first second that it grants after that.
func (s *store) losses(ctx context.Context) (losses int, floor time.Time, err error) {
	space, err := url.Open(ctx, s.URL, lease.Config{})
	if err != nil {
		return 0, time.Time{}, err
	}
	defer space.Close()
	info, err := space.Info(ctx)
	return info.FloorsSet, info.Floor, err
}

// A link is the only way from workers to a server.
type link struct {
	*servers.Proxy
	server string
}

// nowhere is an address where nobody listens.
const nowhere = "127.0.0.1:1"

func (s *store) link(server string) *link {
	proxy, err := servers.StartProxy(server)
	must(err)
	s.onStop(proxy.Close)
	return &link{proxy, server}
}

// Refuse cuts all connections, and leads new ones nowhere.
func (l *link) Refuse() { l.Redirect(nowhere) }

// Heal undoes Refuse and Mute. A connection whose replies were lost must not get later ones.
func (l *link) Heal() {
	l.Redirect(nowhere)
	l.Mute(false)
	l.Redirect(l.server)
}
