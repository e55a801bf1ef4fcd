//go:build unix

package conformance

import (
	"cmp"
	"fmt"
	"log/slog"
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

// TestUniqueTogether: no ID is made twice, and each lies inside a lease of its maker, though in each language a process
// is stopped beyond the TTL in the middle of a call, has its clock set back an hour, and is killed in the middle of a
// call, again and again for LIFE. Two keepers in Go live in the same space.
func TestUniqueTogether(t *testing.T) {
	life, err := time.ParseDuration(cmp.Or(os.Getenv("LIFE"), "3s"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{service: newService(t), end: time.Now().Add(life)}
	all := here(t)
	for range ranges - 3 - 3*len(all) {
		if _, err := w.leases.Acquire(t.Context(), lease.Request{Nodes: perRange, TTL: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() { w.keep(t, fmt.Sprint("keeper ", i+1)) })
	}
	for _, l := range all {
		wait.Go(func() {
			x := &trial{t: t, language: l, service: w.service}
			defer func() {
				x.end()
				if r := recover(); r != nil {
					t.Error(r)
				}
			}()
			for round := 0; round == 0 || !w.over(); round++ {
				w.suffer(x)
			}
		})
	}
	wait.Wait()
	made := map[string]int{}
	for _, process := range w.made {
		language, _, _ := strings.Cut(process, " ")
		made[language]++
	}
	if w.shared() == 0 {
		t.Error("no range was passed on")
	}
	t.Logf("%d IDs %v, %d ranges passed on", len(w.made), made, w.shared())
}

// A world is what processes of all languages do at the same time.
type world struct {
	*service
	end time.Time
}

// over reports whether the time is over, and the processes have met. It does not wait for that for ever.
func (w *world) over() bool {
	late := time.Since(w.end)
	return late > 0 && w.shared() > 0 || late > time.Minute
}

// shared returns how many ranges were passed on from one process to another.
func (w *world) shared() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	users := map[uint32]string{}
	for process, grants := range w.grants {
		for _, r := range grants {
			if cmp.Or(users[r.FirstNode], process) != process {
				n++
			}
			users[r.FirstNode] = process
		}
	}
	return n
}

func (w *world) keep(t *testing.T, name string) {
	keeper, err := lease.Keep(t.Context(), w.leases, w.secret, lease.WithNodes(perRange),
		lease.WithTTL((shortTTL+1)*time.Second), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Error(err)
		return
	}
	defer keeper.Close()
	for ids := make([]randflake.ID, 50); !w.over(); time.Sleep(5 * time.Millisecond) {
		w.note(name, keeper.Status().Record)
		n, _ := keeper.Generator().Fill(ids) // none, if a busy machine did not let it renew
		w.note(name, keeper.Status().Record)
		if _, err := w.take(name, ids[:n]); err != nil {
			t.Error(err)
		}
	}
}

// some makes IDs for a while. A failure for want of nodes, or of a clock that is right, is none.
func (w *world) some(d *driver, last time.Duration) (made int) {
	for end := time.Now().Add(last); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		made += w.receive(d, d.ask("fill 50"))
	}
	return made
}

func (w *world) receive(d *driver, line string) int {
	if strings.HasPrefix(line, "error ") {
		return 0
	}
	ids := d.parse(line)
	_, err := w.take(d.process, ids)
	d.must(err == nil, "%v", err)
	return len(ids)
}

// lives has a process make IDs, as it can if nothing is wrong with it for long enough.
func (w *world) lives(d *driver) {
	for begin := time.Now(); w.some(d, 50*time.Millisecond) == 0; {
		d.must(time.Since(begin) < time.Minute, "%s makes no IDs for a minute", d.process)
	}
}

func (w *world) suffer(x *trial) {
	d := x.start(1, func(a *answerer) { a.nodes, a.ttl = perRange, shortTTL })
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
	d.audit()
}
