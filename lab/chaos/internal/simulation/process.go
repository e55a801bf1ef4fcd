package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lab/chaos/internal/page"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
	"github.com/randflake/randflake/lease"
)

// A Process is one worker process, from its start to its end. Starting it again makes another one.
type Process struct {
	Name string // "worker-3"
	*page.Page

	simulation *Simulation
	config     worker.Config
	child      *servers.Process
	wanted     bool // whether it was told to go
}

// launch starts a worker process, with its clock off by so many seconds.
func (w *Simulation) launch(c worker.Config, off int64) *Process {
	w.count++
	p := &Process{Name: fmt.Sprintf("worker-%d", w.count), simulation: w}
	c.Name = p.Name
	c.Journal = filepath.Join(w.JournalDir(), p.Name)
	c.Page = filepath.Join(w.dir, p.Name+".page")
	c.Seed = w.rand.Uint64()
	p.config = c
	w.noteCounters(c.Counters)
	var err error
	p.Page, err = page.Map(c.Page)
	w.Must(err)
	p.Offset.Store(off)
	asked, err := json.Marshal(c)
	w.Must(err)
	log, err := os.Create(p.logFile())
	w.Must(err)
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", "worker", string(asked))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for the harness
	p.child, err = servers.StartProcess(cmd)
	w.Must(err)
	w.processes = append(w.processes, p)
	return p
}

func (p *Process) logFile() string { return filepath.Join(p.simulation.dir, p.Name+".log") }

// Kill ends the process with SIGKILL.
func (p *Process) Kill() {
	p.wanted = true
	p.child.Kill()
}

// Quit asks the process to close, with SIGTERM, once it heeds that: one that comes before its first steps kills it.
func (p *Process) Quit() {
	p.simulation.Await(p.Name+" begins", func() bool {
		_, err := os.Stat(p.config.Journal)
		return err == nil || p.child.Ended()
	})
	p.wanted = true
	p.signal(syscall.SIGTERM)
}

// Close makes the process close, and waits until it has.
func (p *Process) Close() {
	p.Quit()
	p.simulation.Await(p.Name+" closes", p.child.Ended)
	if err := p.child.Err(); err != nil {
		p.simulation.Fail("%s: %v", p.Name, err)
	}
}

// Pause stops the process in the middle of whatever it does, with SIGSTOP.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets the process go on.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// FailSyncs makes fsync fail in the process from now on, for good.
func (p *Process) FailSyncs() { p.signal(syscall.SIGUSR1) }

// Restart kills the process and starts another one like it.
func (p *Process) Restart() *Process {
	p.Kill()
	return p.Again()
}

// Again starts another process like p, with a clock as wrong as p's is.
func (p *Process) Again() *Process {
	return p.simulation.launch(p.config, p.Offset.Load())
}

// A Snapshot is what a process knows at some moment.
type Snapshot struct {
	Held lease.Record
	At   time.Time // by its clock, which is right
}

// Snapshot returns what the process knows now.
func (p *Process) Snapshot() Snapshot { return Snapshot{p.Held(), time.Now()} }

// Clone starts a process that holds the very lease that p holds.
func (p *Process) Clone() *Process { return p.simulation.adopt(p.config, p.Held(), 0) }

// CloneDuring starts a process that knows what p knew before its last renewal, and sent the same request as p to renew its
// lease, but has no reply. That fails after a third of ttl.
func (p *Process) CloneDuring(before Snapshot, ttl time.Duration) *Process {
	c := p.config
	c.TTL, c.Pending = ttl, p.Held().Change
	return p.simulation.adopt(c, before.Held, 0)
}

// Wake starts a process that knows what p knew, and has the clock of that moment.
func (p *Process) Wake(before Snapshot) *Process {
	return p.simulation.adopt(p.config, before.Held, -int64(time.Since(before.At)/time.Second))
}

func (w *Simulation) adopt(c worker.Config, held lease.Record, off int64) *Process {
	c.Adopt, c.ShiftClock = &held, off != 0
	return w.launch(c, off)
}

// Step sets how far the process's clock is off, in whole seconds.
func (p *Process) Step(off time.Duration) {
	p.simulation.Doubt() // what has ended by a wrong clock is lost
	p.Offset.Store(int64(off / time.Second))
}

// Shares reports whether the leases that p and q hold have nodes in common.
func (p *Process) Shares(q *Process) bool {
	return p.FirstNode.Load() <= q.LastNode.Load() && q.FirstNode.Load() <= p.LastNode.Load()
}

// Parted reports whether p and q hold leases of different owners.
func (p *Process) Parted(q *Process) bool {
	a, b := p.Held(), q.Held()
	return a.Version > 0 && b.Version > 0 && a.Owner != b.Owner
}

// hindered returns how often the process was refused, but for callers of strict counters who came too late: each number
// of theirs waits for the store, and a disk may be busy for longer than they wait.
func (p *Process) hindered() uint64 {
	if len(p.config.Counters) > 0 {
		return p.refused() - p.refused(page.Unreachable)
	}
	return p.refused()
}

// refused returns how often the process was refused with one of kinds, or with any if there is none.
func (p *Process) refused(kinds ...page.Kind) (n uint64) {
	if len(kinds) == 0 {
		for k := range p.Refused {
			n += p.Refused[k].Load()
		}
	}
	for _, k := range kinds {
		n += p.Refused[k].Load()
	}
	return n
}

// signal sends a signal, unless the process is gone.
func (p *Process) signal(s syscall.Signal) {
	if err := p.child.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.simulation.Fail("%s: %v: %v", p.Name, s, err)
	}
}

// lastWords returns the end of the process's log.
func (p *Process) lastWords() string {
	log, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(len(lines)-3, 0):], "\n")
}
