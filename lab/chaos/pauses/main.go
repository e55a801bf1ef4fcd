// Command pauses measures how long processes make no IDs when a store loses data, with the limits
// that a space has by default.
//
// On each of seven stores, all side by side, real processes that are 20 s, 150 s and 5 min old when
// data is lost make IDs at 100 a second, and a new one starts a second later. The table has the
// longest time without an ID of each, beyond the floor. The run fails if the youngest is without
// IDs for more than 68 s, if an older one is refused, if the new one has its first ID after more
// than 70 s, or if an ID was made twice. A promotion with promotion=kept must be no loss.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lab/chaos/internal/engine"
	"github.com/randflake/randflake/lab/etcd"
)

func main() {
	etcdtest.Main()
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		fail(work())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	fail(run(ctx, os.Stdout))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "pauses:", err)
		os.Exit(1)
	}
}

// A scene is what happens to one store.
type scene struct {
	name   string
	engine string
	setup  engine.Setup
	copied func(*engine.Engine) error // makes the copy that takes the data's place later
	lose   func(*engine.Engine) error
	losses int // that the space must note
}

var scenes = []scene{
	{name: "a directory is restored", engine: "file", copied: copyData, lose: restore, losses: 1},
	{name: "a file of SQLite is restored", engine: "sqlite", copied: copyData, lose: restore, losses: 1},
	{name: "a standby of PostgreSQL is promoted", engine: "postgres", copied: follow, lose: promote, losses: 1},
	{name: "the same, with promotion=kept", engine: "postgres", setup: engine.Setup{Synchronous: true}, copied: nothing, lose: promote},
	{name: "a dump of MariaDB is restored", engine: "mariadb", copied: copyData, lose: restore, losses: 1},
	{name: "a snapshot of etcd is restored", engine: "etcd", setup: engine.Setup{Snapshots: true}, copied: copyData, lose: restore, losses: 1},
	{name: "Redis is killed, and starts again", engine: "redis", copied: nothing, lose: restart, losses: 1},
}

func nothing(*engine.Engine) error    { return nil }
func copyData(e *engine.Engine) error { return e.Copy() }
func restore(e *engine.Engine) error  { return e.Restore() }
func follow(e *engine.Engine) error   { return e.Follow() }
func promote(e *engine.Engine) error  { return e.Promote() }
func restart(e *engine.Engine) error  { return errors.Join(e.Kill(), e.Start()) }

// The ages of processes when data is lost, and how long they go on after that, which is beyond the floor.
const (
	young, middle, old = 20 * time.Second, 150 * time.Second, 5 * time.Minute
	copyAge            = middle + 10*time.Second
	after              = 7*time.Minute + 30*time.Second
)

// A process may be without IDs for a tick of 8 s and MaxSkew, if it is young. One that starts needs
// two seconds for itself.
const (
	untilOpen = 68 * time.Second
	untilID   = untilOpen + 2*time.Second
)

// A result is what came of a scene.
type result struct {
	ids        int
	duplicates int
	losses     int
	processes  []*process // old, middle, young and new
	err        error
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "randflake-pauses-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(out, "%d stores, %v\n", len(scenes), old+after)
	results := make([]result, len(scenes))
	var all sync.WaitGroup
	for i, s := range scenes {
		all.Go(func() { results[i] = s.play(ctx, filepath.Join(dir, fmt.Sprint(i))) })
	}
	all.Wait()
	writeTable(out, results)

	var errs []error
	for i, r := range results {
		for _, err := range r.check(scenes[i]) {
			errs = append(errs, fmt.Errorf("%s: %w", scenes[i].name, err))
		}
	}
	return errors.Join(errs...)
}

func writeTable(out io.Writer, results []result) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "longest time without an ID\t%v old\t%v\t%v\tfirst ID of a new one\tafter that\tlosses\tIDs\tduplicates\n", old, middle, young)
	for i, r := range results {
		fmt.Fprintf(table, "%s", scenes[i].name)
		for _, p := range r.processes {
			if p.age < 0 {
				fmt.Fprintf(table, "\t%v", p.waited().Round(100*time.Millisecond))
			}
			fmt.Fprintf(table, "\t%v", p.longest.Round(100*time.Millisecond))
		}
		fmt.Fprintf(table, "\t%d\t%d\t%d\n", r.losses, r.ids, r.duplicates)
	}
	table.Flush()
}

// check returns what is not as wanted.
func (r result) check(s scene) (errs []error) {
	if r.err != nil {
		return []error{r.err}
	}
	if r.duplicates > 0 {
		errs = append(errs, fmt.Errorf("%d IDs were made twice", r.duplicates))
	}
	if r.losses != s.losses {
		errs = append(errs, fmt.Errorf("%d losses are noted: want %d", r.losses, s.losses))
	}
	for _, p := range r.processes {
		switch {
		case p.waited() > untilID:
			errs = append(errs, fmt.Errorf("%s had its first ID after %v: want %v at most", p.name, p.waited(), untilID))
		case p.age == young && p.longest > untilOpen:
			errs = append(errs, fmt.Errorf("%s was without an ID for %v: want %v at most", p.name, p.longest, untilOpen))
		case p.age != young && p.refused > 0:
			errs = append(errs, fmt.Errorf("%s was refused %d times: want none", p.name, p.refused))
		}
	}
	return errs
}

// play starts processes, loses data, starts another process, and watches all of them.
func (s scene) play(ctx context.Context, dir string) (r result) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		r.err = err
		return r
	}
	secret := randflake.NewSecret()
	s.setup.Dir = dir
	s.setup.Check = secret.CheckValue()
	e, err := engine.Start(ctx, s.engine, s.setup)
	defer e.Stop()
	if err != nil {
		r.err = err
		return r
	}
	defer func() {
		for _, p := range r.processes {
			p.end()
		}
		r.count()
	}()

	began := time.Now()
	start := func(name string, age time.Duration) error {
		p, err := launch(filepath.Join(dir, name), e.URL, secret, age)
		if err != nil {
			return err
		}
		r.processes = append(r.processes, p)
		return nil
	}
	steps := []struct {
		at time.Duration
		do func() error
	}{
		{0, func() error { return start("old", old) }},
		{old - copyAge, func() error { return s.copied(e) }},
		{old - middle, func() error { return start("middle", middle) }},
		{old - young, func() error { return start("young", young) }},
		{old, func() error { return s.lose(e) }},
		{old + time.Second, func() error { return start("new", -1) }},
		{old + after, func() (err error) {
			r.losses, _, err = e.Losses(ctx)
			return err
		}},
	}
	for _, step := range steps {
		select {
		case <-time.After(time.Until(began.Add(step.at))):
		case <-ctx.Done():
			r.err = errors.New("interrupted")
			return r
		}
		r.err = cmp.Or(step.do(), r.ended())
		if r.err != nil {
			return r
		}
	}
	return r
}

// ended returns an error if a process has ended by itself.
func (r *result) ended() error {
	for _, p := range r.processes {
		if p.child.Ended() {
			return fmt.Errorf("%s ended by itself: %s", p.name, p.lastWords())
		}
	}
	return nil
}

// count counts the IDs of all processes.
func (r *result) count() {
	made := map[randflake.ID]bool{}
	for _, p := range r.processes {
		for _, id := range p.ids {
			if made[id] {
				r.duplicates++
			}
			made[id] = true
			r.ids++
		}
	}
}
