package counters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/randflake/randflake/bench/internal/engines"
	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
)

// A system is a server that runs, or a directory, with what gives numbers there.
type system struct {
	name, version string
	sources       []source
	stops         []func() // what ends it, in reverse order
}

// onServer add the version of a server to its system, and what people use there, by its name.
var onServer = map[string]func(ctx context.Context, s *system, url string) error{
	"etcd": etcdPeers, "Redis": redisPeers, "Redis as it comes": redisPeers, "PostgreSQL": postgresPeers, "MariaDB": mariaDBPeers,
}

func (s *system) onStop(stop func()) { s.stops = append(s.stops, stop) }

func (s *system) stop() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
}

// start starts the system, with our counters and peers. It is to be stopped also when that fails.
func (s *system) start(ctx context.Context, e engines.Engine, dir string) error {
	server, err := e.Start(dir)
	if err != nil {
		return err
	}
	s.onStop(func() { server.Kill() })
	if e.Create != nil {
		if err := s.count(ctx, e, server.URL()); err != nil {
			return err
		}
	}
	if add := onServer[e.Name]; add != nil {
		return add(ctx, s, server.URL())
	}
	return nil
}

// count adds the counters of a new space.
func (s *system) count(ctx context.Context, e engines.Engine, url string) error {
	space, err := e.Create(ctx, url, store.ForNewSecret())
	if err != nil {
		return err
	}
	s.onStop(func() { space.Close() })
	counters := counter.On(space)
	one, err := counters.OpenStrict(ctx, "strict", counter.OrCreate())
	if err != nil {
		return err
	}
	many, err := counters.Open(ctx, "relaxed", counter.OrCreate())
	if err != nil {
		return err
	}
	s.onStop(func() { many.Close() })
	s.sources = append(s.sources,
		source{blocks, "Strict.Next", 1, []caller{one.Next}},
		source{strict, "Strict.Next", 1, slices.Repeat([]caller{one.Next}, atOnce)},
		source{relaxed, "Counter.Wait", 1, slices.Repeat([]caller{many.Wait}, atOnce)})
	return nil
}

// A server is one that was to be measured.
type server struct {
	Name    string `csv:"server"`
	Version string `csv:"version"`
	Skipped string `csv:"skipped"` // why it was not
}

// startAll starts all systems in dir, and says of each that is not installed that it is skipped. All are to be stopped,
// also when it fails.
func startAll(ctx context.Context, dir string) (systems []*system, all []server, err error) {
	known := engines.All()
	failed := make([]error, len(known))
	var wg sync.WaitGroup
	for i, e := range known {
		s := &system{name: e.Name}
		systems = append(systems, s)
		wg.Go(func() { failed[i] = s.start(ctx, e, filepath.Join(dir, fmt.Sprint(i))) })
	}
	wg.Wait()
	for i, s := range systems {
		version, _, _ := strings.Cut(strings.ReplaceAll(s.version, "-", " "), " ") // without that of a distribution's package
		all = append(all, server{Name: s.name, Version: version})
		if errors.Is(failed[i], exec.ErrNotFound) {
			all[i].Skipped, failed[i] = failed[i].Error(), nil
			fmt.Fprintf(os.Stderr, "%s is not measured: %s\n", s.name, all[i].Skipped)
		}
	}
	return systems, all, errors.Join(failed...)
}
