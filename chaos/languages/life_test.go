// Package languages has generators in Go, Python and TypeScript live in one space of randflaked, and breaks them.
package languages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/chaos/internal/check"
	"github.com/randflake/randflake/chaos/internal/engine"
)

// program is randflaked.
var program string

// workerFlag in the environment makes this program a worker.
const workerFlag = "LANGUAGES_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerFlag) != "" {
		if err := work(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "languages")
	if err == nil {
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "randflaked")
		err = engine.BuildRandflaked(context.Background(), program)
	}
	if err == nil {
		if _, err = os.Stat("../../clients/typescript/dist/index.js"); err != nil {
			err = fmt.Errorf("%w: make typescript builds it", err)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestLife: no ID is made twice, and each lies inside a lease of its maker, though of each language one process is stopped
// beyond the end of its lease, and another one has its clock set back by an hour, then is killed, with its successor on
// nodes of those that are stopped; and a replica of the service is killed. LIFE=60s does so again and again for as long.
func TestLife(t *testing.T) {
	t.Parallel()
	span, err := time.ParseDuration("0" + os.Getenv("LIFE"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for language := range tongues {
		names = append(names, language+"-1", language+"-2")
	}
	l := &life{town: newTown(t, names...), living: map[string]*process{}}
	l.checker = check.New(check.Config{Secret: l.secret})
	begin := time.Now()
	for _, name := range names {
		l.launch(name)
	}
	l.each(names, (*process).goesOn)
	for round := 0; round == 0 || time.Since(begin) < span; round++ {
		l.suffer(round)
		for _, p := range l.all {
			p.report(l.checker, false)
		}
	}
	l.end(time.Since(begin))
}

// A life is that of all processes.
type life struct {
	*town
	living  map[string]*process // by principal
	all     []*process
	checker *check.Checker
	killed  int
}

func (l *life) launch(name string) {
	language, _, _ := strings.Cut(name, "-")
	p := l.town.launch(name, language, 0)
	l.living[name] = p
	l.all = append(l.all, p)
}

func (l *life) each(names []string, do func(*process)) {
	for _, name := range names {
		do(l.living[name])
	}
}

// suffer has each fault take place once in each language.
func (l *life) suffer(round int) {
	var stopped, others []string
	for language := range tongues {
		stopped = append(stopped, fmt.Sprintf("%s-%d", language, round%2+1))
		others = append(others, fmt.Sprintf("%s-%d", language, 2-round%2))
	}
	l.each(stopped, func(p *process) { p.signal(syscall.SIGSTOP) })
	over := time.Now().Add((ttl + 1) * time.Second) // for the leases of those
	l.each(others, (*process).losesAnHour)
	l.replicas[round%2].process.Kill()
	l.each(others, func(p *process) { p.step(0) })
	l.each(others, (*process).goesOn)
	time.Sleep(time.Until(over))
	l.each(others, func(p *process) {
		p.child.Kill()
		l.killed++
		l.launch(p.name)
	})
	l.each(others, (*process).goesOn)
	l.each(stopped, func(p *process) { p.signal(syscall.SIGCONT) })
	l.replicas[round%2].start()
	l.each(stopped, (*process).goesOn)
}

// end has all processes stop, and judges.
func (l *life) end(span time.Duration) {
	for _, p := range l.living {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range l.living {
		p.ends()
	}
	made, users := map[string]int{}, map[uint32]map[*process]bool{} // IDs by language, and who used a node
	for _, p := range l.all {
		p.report(l.checker, true)
		made[p.language] += p.made
		for s := range p.spots {
			if users[s.node] == nil {
				users[s.node] = map[*process]bool{}
			}
			users[s.node][p] = true
		}
	}
	r, err := l.checker.Result()
	if err != nil || !r.OK() {
		l.Errorf("%+v, error %v", r, err)
	}
	if r.Killed != l.killed || r.Processes != len(l.all) || made["go"]*made["python"]*made["typescript"] == 0 {
		l.Errorf("%d processes, %d killed, IDs %v, want %d, %d, and some of each language", r.Processes, r.Killed, made, len(l.all), l.killed)
	}
	most := 0
	for _, processes := range users {
		most = max(most, len(processes))
	}
	if most < 2 {
		l.Error("no node went from one process to another: the faults did not meet")
	}
	l.auditAgrees(l.all)
	l.Logf("%.0f s: %d IDs %v, %d duplicates, %d outside of leases; %d leases, %d nodes, one of them used by %d processes; calls %v; %d of %d processes killed",
		span.Seconds(), r.Made, made, r.Duplicates, r.Outside, r.Leases, len(users), most, r.Calls, r.Killed, r.Processes)
}

// TestOffByOne: generators that take their lease for a second longer than it is are found, and those that don't are not,
// when the service is gone and they go on to the end. On a slow machine such a generator may sleep through that second.
func TestOffByOne(t *testing.T) {
	t.Parallel()
	names := []string{"go-right", "python-right", "python-late", "typescript-right", "typescript-late"}
	w := newTown(t, names...)
	found := map[string]bool{}
	for try := 0; try < 5 && len(found) < 2; try++ {
		for _, r := range w.replicas {
			r.start()
		}
		for name, outside := range w.toTheEnd(names) {
			if outside > 0 {
				found[name] = true
			}
		}
	}
	if len(found) != 2 || !found["python-late"] || !found["typescript-late"] {
		t.Errorf("IDs outside of the lease of %v, want those of both that are late", found)
	}
}

// toTheEnd has processes come to the end of their leases, and returns how many IDs of each lie outside.
func (w *town) toTheEnd(names []string) map[string]uint64 {
	var all []*process
	for _, name := range names {
		language, kind, _ := strings.Cut(name, "-")
		all = append(all, w.launch(name, language, strings.Count(kind, "late")))
	}
	for _, p := range all {
		p.goesOn()
	}
	for _, r := range w.replicas {
		r.process.Kill()
	}
	outside := map[string]uint64{}
	for _, p := range all {
		await(w.T, p.name+" comes to the end of its lease", func() bool { return p.count("lease has ended") > 0 })
		p.child.Kill()
		checker := check.New(check.Config{Secret: w.secret})
		p.report(checker, true)
		r, err := checker.Result()
		if err != nil || r.Duplicates > 0 {
			w.Errorf("%s: %+v, error %v", p.name, r, err)
		}
		outside[p.name] = r.Outside
	}
	return outside
}
