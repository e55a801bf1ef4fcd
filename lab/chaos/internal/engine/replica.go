package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/lab/chaos/internal/worker"
)

// A Replica is a process of randflaked, which is reached over a link of its own, wherever it listens.
type Replica struct {
	Link *Link

	engine               *Engine
	program, config, log string
	process              *servers.Process
}

// Token is what workers show to replicas.
const Token = "of-the-workers"

// BuildRandflaked builds the program that replicas run.
func BuildRandflaked(ctx context.Context, to string) error {
	said, err := exec.CommandContext(ctx, "go", "build", "-o", to, "github.com/randflake/randflake/service/cmd/randflaked").CombinedOutput()
	if err != nil {
		return fmt.Errorf("engine: build randflaked: %w\n%s", err, said)
	}
	return nil
}

// serveReplicas starts two replicas on the space.
func (e *Engine) serveReplicas() error {
	config := filepath.Join(e.setup.Dir, "randflaked.yaml")
	text := fmt.Sprintf(`listen: 127.0.0.1:0
audit: %q
spaces: [{name: %s, kind: randflake, store: %q, counters: [{name: %s}, {name: %s}]}]
principals: [{name: workers, tokens: [%x]}]
rules: [{principals: [workers], spaces: ["*"], verbs: [lease, list, count], limits: {rate: 1000000}}]
`, filepath.Join(e.setup.Dir, "audit"), worker.Space, e.URL, worker.Orders, worker.Tickets, sha256.Sum256([]byte(Token)))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	for i := range 2 {
		r := &Replica{
			engine:  e,
			program: e.setup.Randflaked,
			config:  config,
			log:     filepath.Join(e.setup.Dir, fmt.Sprintf("replica-%d.log", i)),
		}
		e.Replicas = append(e.Replicas, r)
		e.onStop(r.Kill)
		if err := r.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Kill ends the process with SIGKILL.
func (r *Replica) Kill() {
	if r.process != nil {
		r.process.Kill()
	}
}

// Start starts the process, and waits until it serves.
func (r *Replica) Start() error {
	log, err := os.Create(r.log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(r.program, "--config", r.config)
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is for the harness
	r.process, err = servers.StartProcess(cmd)
	if err != nil {
		return err
	}
	at, err := r.awaitReady()
	if err != nil {
		return err
	}
	if r.Link == nil {
		r.Link, err = r.engine.link(at)
		return err
	}
	r.Link.Lead(at)
	return nil
}

// awaitReady returns the address at which the process serves.
func (r *Replica) awaitReady() (string, error) {
	began := time.Now()
	for time.Since(began) < time.Minute && !r.process.Ended() {
		log, _ := os.ReadFile(r.log)
		found := listening.FindSubmatch(log)
		if found != nil && ready(string(found[1])) {
			return string(found[1]), nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "", fmt.Errorf("engine: randflaked is not ready: see %s", r.log)
}

// listening is how the log says where the process listens.
var listening = regexp.MustCompile(`"msg":"listening","url":"http://([^"/]+)`)

func ready(at string) bool {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get("http://" + at + "/readyz")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
