// Package languages has generators in Go, Python and TypeScript live in one space of randflaked, and breaks them.
package languages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/chaos/internal/check"
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
		_, err = os.Stat("../../clients/typescript/dist/index.js")
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v: make typescript builds what runs here\n", err)
		return 1
	}
	build := exec.Command("go", "build", "-o", program, "./cmd/randflaked")
	build.Dir = "../../service"
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s%v\n", out, err)
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

// How all generators say why there is no ID.
const (
	clockBehind = "clock is behind the newest ID"
	leaseEnded  = "lease has ended"
)

// suffer has each fault take place once in each language.
func (l *life) suffer(round int) {
	var stopped, others []string
	for language := range tongues {
		stopped = append(stopped, fmt.Sprintf("%s-%d", language, round%2+1))
		others = append(others, fmt.Sprintf("%s-%d", language, 2-round%2))
	}
	l.each(stopped, func(p *process) { p.signal(syscall.SIGSTOP) })
	over := time.Now().Add((ttl + 1) * time.Second) // for the leases of those
	l.each(others, func(p *process) {
		before := p.refusals(clockBehind)
		p.step(-time.Hour)
		await(p.T, p.name+" refuses to go on", func() bool { return p.refusals(clockBehind) > before })
	})
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
	made := map[string]int{}
	makers := map[uint32]map[string]bool{} // the languages of a node
	handed := map[uint32]int{}             // how many processes had it
	for _, p := range l.all {
		p.report(l.checker, true)
		made[p.language] += p.made
		had := map[uint32]bool{}
		for s := range p.spots {
			had[s.node] = true
		}
		for node := range had {
			handed[node]++
			if makers[node] == nil {
				makers[node] = map[string]bool{}
			}
			makers[node][p.language] = true
		}
	}
	r, err := l.checker.Result()
	if err != nil || !r.OK() {
		l.Errorf("%+v, error %v", r, err)
	}
	if r.Killed != l.killed || r.Processes != len(l.all) || made["go"]*made["python"]*made["typescript"] == 0 {
		l.Errorf("%d processes, %d killed, IDs %v, want %d, %d, and some of each language", r.Processes, r.Killed, made, len(l.all), l.killed)
	}
	abroad, most := 0, 0
	for node, languages := range makers {
		most = max(most, handed[node])
		if len(languages) > 1 {
			abroad++
		}
	}
	if most < 2 {
		l.Error("no node went from one process to another: the faults did not meet")
	}
	l.auditAgrees(l.all)
	l.Logf("%.0f s: %d IDs %v, %d duplicates, %d outside of leases; %d leases, %d nodes, of which %d were used by several languages, and one by %d processes; calls %v; %d of %d processes killed",
		span.Seconds(), r.Made, made, r.Duplicates, r.Outside, r.Leases, len(makers), abroad, most, r.Calls, r.Killed, r.Processes)
}

// TestOffByOne: generators that take their lease for a second longer than it is are found, and those that don't are not,
// when the service is gone and they go on to the end.
func TestOffByOne(t *testing.T) {
	t.Parallel()
	var names []string
	for language := range tongues {
		names = append(names, language+"-right", language+"-late")
	}
	w := newTown(t, names...)
	var all []*process
	for _, name := range names {
		language, kind, _ := strings.Cut(name, "-")
		late := 0
		if kind == "late" {
			late = 1
		}
		all = append(all, w.launch(name, language, late))
	}
	for _, p := range all {
		p.goesOn()
	}
	for _, r := range w.replicas {
		r.process.Kill()
	}
	for _, p := range all {
		await(t, p.name+" comes to the end of its lease", func() bool { return p.refusals(leaseEnded) > 0 })
		p.child.Kill()
		checker := check.New(check.Config{Secret: w.secret})
		p.report(checker, true)
		r, err := checker.Result()
		if err != nil {
			t.Fatal(err)
		}
		if found := r.Outside > 0; found != (p.late > 0) || r.Duplicates > 0 {
			t.Errorf("%s, late by %d s: %+v, want IDs outside of the lease where it is late", p.name, p.late, r)
		}
	}
}
