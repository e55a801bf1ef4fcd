package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lease/url"
)

// rate is how many IDs a worker tries to make in a second.
const rate = 100

// work makes IDs until it is killed, as a program of a user would. It prints the time of each, and
// the ID, or 0 for a refusal.
func work() error {
	keeper, err := url.Keep("pauses")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for range time.Tick(time.Second / rate) {
		id, err := keeper.Generator().Generate()
		if err != nil {
			id = 0
		}
		fmt.Fprintln(out, time.Now().UnixNano(), int64(id))
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// A process is a worker, and what it has printed so far.
type process struct {
	name    string
	age     time.Duration // at the loss; negative if it starts after that
	log     string
	child   *servers.Process
	read    chan struct{} // closed when all that it printed is read; the fields below are for those who wait for that
	started time.Time

	first, last time.Time // of its IDs
	longest     time.Duration
	refused     int
	ids         []randflake.ID
}

// launch starts a worker.
func launch(path, store string, secret randflake.Secret, age time.Duration) (*process, error) {
	p := &process{
		name:    filepath.Base(path),
		age:     age,
		log:     path + ".log",
		read:    make(chan struct{}),
		started: time.Now(),
	}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	cmd := exec.Command("/proc/self/exe", "worker")
	cmd.Stdout = writer
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2", "RANDFLAKE_STORE="+store, "RANDFLAKE_SECRET="+secret.Hex())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for the harness
	p.child, err = servers.StartProcess(cmd)
	if err != nil {
		reader.Close()
		return nil, err
	}
	go p.listen(reader)
	return p, nil
}

// listen reads what the worker prints.
func (p *process) listen(from *os.File) {
	defer close(p.read)
	defer from.Close()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var nanoseconds, id int64
		if _, err := fmt.Sscan(lines.Text(), &nanoseconds, &id); err != nil {
			return // it was killed in the middle of a line
		}
		if id == 0 {
			p.refused++
			continue
		}
		p.note(time.Unix(0, nanoseconds), randflake.ID(id))
	}
}

func (p *process) note(at time.Time, id randflake.ID) {
	if p.first.IsZero() {
		p.first = at
		p.last = at
	}
	p.longest = max(p.longest, at.Sub(p.last))
	p.last = at
	p.ids = append(p.ids, id)
}

// end kills the worker. Until then it was without an ID since its last one.
func (p *process) end() {
	ended := time.Now()
	p.child.Kill()
	<-p.read
	if !p.first.IsZero() {
		p.longest = max(p.longest, ended.Sub(p.last))
	}
}

// waited returns how long it took to the first ID, the start of the program included.
func (p *process) waited() time.Duration {
	if p.first.IsZero() {
		return time.Since(p.started)
	}
	return p.first.Sub(p.started)
}

// lastWords returns the end of the log.
func (p *process) lastWords() string {
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return lines[len(lines)-1]
}
