package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lab/chaos/internal/clock"
)

// A Replica is a process of randflaked, which is reached over a Link of its own, wherever it listens.
type Replica struct {
	program string
	config  string // a file, as is the next one
	log     string
	link    *Link
	process *servers.Process
	before  int64 // the size of the log when the process was started
	clients *tls.Config
}

// stepTimeout is how long a step of a replica is waited for.
const stepTimeout = time.Minute

// Link is the only way to the replica.
func (r *Replica) Link() *Link { return r.link }

// Start starts the process, and waits until it listens.
func (r *Replica) Start() error { return r.StartWrong(0) }

// StartWrong is Start, and the clock of the process is off from then on.
func (r *Replica) StartWrong(off time.Duration) error {
	log, err := os.OpenFile(r.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	r.before = info.Size()
	cmd := exec.Command(r.program, "--config", r.config)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for the harness
	if r.process, err = servers.StartProcess(cmd); err != nil {
		return err
	}
	lines, err := r.await("listening", 1)
	if err != nil {
		return err
	}
	at, err := url.Parse(lines[0].URL)
	if err == nil && off != 0 {
		err = clock.ShiftOther(r.process.Pid, off)
	}
	if err != nil {
		return err
	}
	if r.link == nil {
		r.link, err = newLink(at.Host)
		return err
	}
	return r.link.Lead(at.Host)
}

// Ready waits until the replica serves.
func (r *Replica) Ready(ctx context.Context) error {
	transport := &http.Transport{TLSClientConfig: r.clients}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: stepTimeout}
	for began := time.Now(); time.Since(began) < stepTimeout && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		answer, err := client.Get("https://" + r.link.proxy.Upstream + "/readyz")
		if err != nil {
			return fmt.Errorf("engine: randflaked is not ready: %w", err)
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
	}
	return fmt.Errorf("engine: randflaked is not ready: see %s", r.log)
}

// Kill ends the process with SIGKILL.
func (r *Replica) Kill() {
	if r.process != nil {
		r.process.Kill()
	}
}

// Terminate ends the process with SIGTERM, and returns how it ended.
func (r *Replica) Terminate() error {
	if err := r.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if _, err := r.await("stopped", 1); err != nil {
		return err
	}
	return r.process.Err()
}

// Reload has the process read its configuration again, with SIGHUP, and waits until it is in force.
func (r *Replica) Reload() error {
	const done = "configuration was read again"
	lines, err := r.lines(done)
	if err != nil {
		return err
	}
	if err := r.process.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	_, err = r.await(done, len(lines)+1)
	return err
}

// A line is one of the log's.
type line struct{ Msg, URL string }

// await waits until the process has logged a message so many times.
func (r *Replica) await(message string, times int) ([]line, error) {
	for began := time.Now(); time.Since(began) < stepTimeout; time.Sleep(5 * time.Millisecond) {
		ended := r.process.Ended()
		if lines, err := r.lines(message); err != nil || len(lines) >= times {
			return lines, err
		}
		if ended {
			break
		}
	}
	return nil, fmt.Errorf("engine: randflaked does not say %q: see %s", message, r.log)
}

// lines returns the lines with a message that the process has logged.
func (r *Replica) lines(message string) (found []line, err error) {
	log, err := os.ReadFile(r.log)
	if err != nil {
		return nil, err
	}
	for text := range bytes.Lines(log[r.before:]) {
		var l line
		if json.Unmarshal(text, &l) == nil && l.Msg == message {
			found = append(found, l)
		}
	}
	return found, nil
}
