//go:build unix

package conformance

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A space of these ranges has hardly more of them than the processes need, so that they take what others had.
const (
	shortTTL = 2
	ranges   = 32
	perRange = (randflake.MaxNode + 1) / ranges
)

// TestUniqueTogether: no ID is made twice, and each lies inside a lease of its maker, though in each language one process is
// stopped beyond the TTL in the middle of a call, and another one has its clock set back an hour and then is killed in the
// middle of a call, again and again for LIFE. Two keepers in Go live in the same space.
func TestUniqueTogether(t *testing.T) {
	life, err := time.ParseDuration(cmp.Or(os.Getenv("LIFE"), "3s"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{service: newService(t), end: time.Now().Add(life), done: map[string]int{}}
	defer w.minter.Close()
	all := here(t)
	for range ranges - 3 - 4*len(all) {
		if _, err := w.leases.Acquire(t.Context(), lease.Request{Nodes: perRange, TTL: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		w.run(t, func() { w.keep(t, fmt.Sprint("keeper ", i+1)) })
	}
	for _, l := range all {
		x := &trial{t: t, language: l, service: w.service}
		y := &trial{t: t, language: l, service: w.service, doing: "killed: "}
		for _, x := range []*trial{x, y} {
			defer func() {
				for _, d := range x.drivers {
					d.end()
				}
			}()
		}
		w.run(t, func() { w.stopped(x) })
		w.run(t, func() { w.killed(y) })
	}
	w.wait.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	made, shared := map[string]int{}, 0
	for _, process := range w.made {
		language, _, _ := strings.Cut(process, " ")
		made[language]++
	}
	users := map[uint32]string{}
	for process, grants := range w.grants {
		for _, r := range grants {
			if before, ok := users[r.FirstNode]; ok && before != process {
				shared++
			}
			users[r.FirstNode] = process
		}
	}
	if shared == 0 || w.done["stopped"] < len(all) || w.done["killed"] < len(all) {
		t.Errorf("the faults did not meet: %d ranges were passed on, faults %v", shared, w.done)
	}
	t.Logf("%d IDs %v, %d ranges passed on, faults and errors %v", len(w.made), made, shared, w.done)
}

// A world is what processes of all languages do at the same time.
type world struct {
	*service
	wait  sync.WaitGroup
	end   time.Time
	tally sync.Mutex
	done  map[string]int
}

func (w *world) count(what string) {
	w.tally.Lock()
	defer w.tally.Unlock()
	w.done[what]++
}

func (w *world) run(t *testing.T, do func()) {
	w.wait.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				t.Error(r)
			}
		}()
		do()
	})
}

func (w *world) keep(t *testing.T, name string) {
	keeper, err := lease.Keep(t.Context(), ledger{w.leases, w.service, name}, w.secret, lease.WithNodes(perRange), lease.WithTTL((shortTTL+1)*time.Second), quiet)
	if err != nil {
		t.Error(err)
		return
	}
	defer keeper.Close()
	for ids := make([]randflake.ID, 50); time.Now().Before(w.end); time.Sleep(5 * time.Millisecond) {
		n, err := keeper.Generator().Fill(ids)
		if err != nil {
			w.count("keeper: " + err.Error())
		}
		if _, err := w.take(name, ids[:n]); err != nil {
			t.Error(err)
		}
	}
}

func (w *world) start(x *trial) *driver {
	return x.start(1, fmt.Sprint("NODES=", perRange), fmt.Sprint("TTL=", shortTTL))
}

// some makes IDs for a while. A failure for want of nodes, or of a clock that is right, is none.
func (w *world) some(d *driver, last time.Duration) (made int) {
	for end := time.Now().Add(last); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		made += w.receive(d, d.ask("fill 50"))
	}
	return made
}

func (w *world) receive(d *driver, line string) int {
	words := strings.Fields(line)
	if words[0] == "error" {
		w.count(words[1])
		return 0
	}
	ids := parseIDs(words[1:])
	d.must(words[0] == "ids" && len(ids) == len(words)-1, "%.100s", line)
	_, err := w.take(d.process, ids)
	d.must(err == nil, "%v", err)
	return len(ids)
}

// lives has a process make IDs, as it can if nothing is wrong with it for long enough.
func (w *world) lives(d *driver) {
	for begin := time.Now(); w.some(d, 50*time.Millisecond) == 0; {
		d.must(time.Since(begin) < 30*time.Second, "%s makes no IDs for 30 s: %v", d.process, w.done)
	}
}

func (w *world) stopped(x *trial) {
	d := w.start(x)
	for round := 0; round == 0 || time.Now().Before(w.end); round++ {
		w.lives(d)
		had := len(d.got("Acquire"))
		d.tell("generate 5000")
		time.Sleep(2 * time.Millisecond)
		x.must(d.cmd.Process.Signal(syscall.SIGSTOP) == nil, "SIGSTOP")
		time.Sleep(shortTTL*time.Second + 100*time.Millisecond)
		x.must(d.cmd.Process.Signal(syscall.SIGCONT) == nil, "SIGCONT")
		w.receive(d, d.hear())
		w.lives(d)
		x.must(len(d.got("Acquire")) > had, "no acquisition after the TTL")
		w.count("stopped")
	}
	d.audit()
}

func (w *world) killed(x *trial) {
	for round := 0; round == 0 || time.Now().Before(w.end); round++ {
		d := w.start(x)
		w.lives(d)
		d.setClock(-3600)
		w.some(d, shortTTL*time.Second/2)
		d.setClock(0)
		w.lives(d)
		d.tell("generate 5000")
		time.Sleep(2 * time.Millisecond)
		d.kill()
		for line := range d.lines {
			w.receive(d, line)
		}
		w.count("killed")
	}
}
