package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/test/servers"
)

// A process is one worker, from its start to its end. Starting it again makes another one.
type process struct {
	name string // "worker-3"
	*page

	world     *world
	config    workerConfig
	child     *servers.Process
	started   time.Time
	toldToEnd bool
}

// run starts a worker, with its clock off by a number of seconds.
func (w *world) run(c workerConfig, off int64) *process {
	name := fmt.Sprintf("worker-%d", len(w.processes)+1)
	c.Journal = filepath.Join(w.dir, name)
	c.Page = filepath.Join(w.dir, name+".page")
	c.Seed = w.rand.Uint64()
	page, err := mapPage(c.Page)
	must(err)
	page.Offset.Store(off)
	p := &process{name: name, page: page, world: w, config: c, started: time.Now()}
	asked, err := json.Marshal(c)
	must(err)
	log, err := os.Create(p.logFile())
	must(err)
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", "worker", string(asked))
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for the harness
	p.child, err = servers.StartProcess(cmd)
	must(err)
	w.processes = append(w.processes, p)
	return p
}

func (p *process) logFile() string { return p.config.Journal + ".log" }

// kill ends the process with SIGKILL.
func (p *process) kill() {
	p.toldToEnd = true
	p.child.Kill()
}

// quit asks the process to close, with SIGTERM, once it heeds that: one that comes before its first steps kills it.
func (p *process) quit() {
	p.world.await(p.name+" begins", func() bool {
		_, err := os.Stat(p.config.Journal)
		return err == nil || p.child.Ended()
	})
	p.toldToEnd = true
	p.signal(syscall.SIGTERM)
}

// pause stops the process in the middle of whatever it does, and resume lets it go on.
func (p *process) pause()  { p.signal(syscall.SIGSTOP) }
func (p *process) resume() { p.signal(syscall.SIGCONT) }

func (p *process) signal(s syscall.Signal) {
	if err := p.child.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		fail("%s: %v: %v", p.name, s, err)
	}
}

// restart kills the process and starts another one like it, with a clock as wrong.
func (p *process) restart() *process {
	p.kill()
	return p.world.run(p.config, p.Offset.Load())
}

// granted returns all leases that the process was ever granted.
func (p *process) granted() (leases []randflake.Lease) {
	must(readJournal(p.config.Journal, func(e event) {
		if e.Granted != nil {
			leases = append(leases, *e.Granted)
		}
	}))
	return leases
}

// clone starts a process that has the very leases that p has, as when its machine is copied.
func (p *process) clone() *process {
	c := p.config
	c.Adopt = p.granted()
	return p.world.run(c, 0)
}

// onReserve reports whether the process was leased nodes of the reserve, which are those after the main ones.
func (p *process) onReserve() bool {
	return slices.ContainsFunc(p.granted(), func(l randflake.Lease) bool { return l.FirstNode >= 2*half })
}

// step sets how far the process's clock is off, in whole seconds.
func (p *process) step(off time.Duration) {
	p.world.lost = true // what has ended by a wrong clock is lost
	p.Offset.Store(int64(off / time.Second))
}

func (p *process) made() uint64 { return p.Made.Load() }

// refused returns how often the process was refused for one of the reasons.
func (p *process) refused(reasons ...refusal) (n uint64) {
	for _, why := range reasons {
		n += p.Refused[why].Load()
	}
	return n
}

// allRefused returns how often the process was refused for any reason.
func (p *process) allRefused() (n uint64) {
	for why := range p.Refused {
		n += p.Refused[why].Load()
	}
	return n
}

// hindered is allRefused, but for those who take numbers and came too late: each number of a strict counter waits for the
// store, and a disk may be busy for longer.
func (p *process) hindered() uint64 {
	n := p.allRefused()
	if len(p.config.Counters) > 0 {
		n -= p.refused(Unreachable)
	}
	return n
}

// lastWords returns the end of the process's log.
func (p *process) lastWords() string {
	log, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return lines[len(lines)-1]
}
