//go:build unix

package conformance

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
)

// TestUniqueTogether: no ID is made twice, and each lies inside a lease of its maker, though in each language a process
// is stopped beyond its window in the middle of a call, has its clock set an hour back and forth, and is killed in the
// middle of a call, again and again for LIFE. Two keepers in Go live in the same space.
func TestUniqueTogether(t *testing.T) {
	life, err := time.ParseDuration(cmp.Or(os.Getenv("LIFE"), "3s"))
	require.NoError(t, err)
	w := &world{service: newService(t, short), end: time.Now().Add(life)}
	w.begin = 0
	w.ahead.Store(0)
	var wait sync.WaitGroup
	for i := range 2 {
		wait.Go(func() { w.keep(t, fmt.Sprint("keeper ", i+1)) })
	}
	for _, l := range here(t) {
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
	t.Logf("%d IDs: %v", len(w.made), made)
}

// short is how long the windows are.
const short = 2 * time.Second

// A world is what processes of all languages do at the same time.
type world struct {
	*service
	end time.Time
}

func (w *world) over() bool { return time.Now().After(w.end) }

// A noting source notes what a keeper takes.
type noting struct {
	*lease.Space
	note func(randflake.Lease)
}

func (n noting) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := n.Space.Take(ctx, from, to, nodes)
	for _, l := range leases {
		n.note(l)
	}
	return leases, err
}

func (w *world) keep(t *testing.T, name string) {
	source := noting{w.space, func(l randflake.Lease) { w.note(name, l) }}
	keeper, err := lease.Keep(t.Context(), source, w.secret, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Error(err)
		return
	}
	defer keeper.Close()
	for ids := make([]randflake.ID, 50); !w.over(); time.Sleep(5 * time.Millisecond) {
		n, _ := keeper.Generator().Fill(ids) // none, if a busy machine did not let it take a window
		_, err := w.take(name, ids[:n])
		require.That(t, err == nil, "%v", err)
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
	d := x.start(1, func(a *answerer) { a.nodes = 16 })
	w.lives(d)
	d.tell("generate 5000")
	time.Sleep(2 * time.Millisecond)
	x.must(d.cmd.Process.Signal(syscall.SIGSTOP) == nil, "SIGSTOP")
	time.Sleep(short + 100*time.Millisecond)
	x.must(d.cmd.Process.Signal(syscall.SIGCONT) == nil, "SIGCONT")
	w.receive(d, d.hear())
	w.lives(d)

	for _, wrong := range []int{-3600, 0, 3600, -3600, 0} {
		d.setClock(wrong)
		w.some(d, short/2)
	}
	w.lives(d)
	d.tell("generate 5000")
	time.Sleep(2 * time.Millisecond)
	d.kill()
	for line := range d.lines {
		w.receive(d, line)
	}
	d.audit()
}
