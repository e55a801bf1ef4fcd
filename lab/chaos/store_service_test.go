package chaos

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/randflake/randflake/internal/test/servers"
)

// A replica is a process of randflaked, which is reached over a link of its own.
type replica struct {
	*servers.Server
	Link    *link
	program string
}

// token is what workers show to replicas, and spaceName what those call the space.
const token, spaceName = "of-the-workers", "chaos"

// serveReplicas starts two replicas on the space.
func (s *store) serveReplicas() {
	program, err := servers.Tool(".", "github.com/randflake/randflake/service/cmd/randflaked")
	must(err)
	for range 2 {
		server, err := servers.New("randflaked", s.fresh("replica"), []string{"GOMAXPROCS=2"})
		must(err)
		r := &replica{Server: server, program: program}
		s.Replicas = append(s.Replicas, r)
		s.onStop(func() { r.Kill() })
		must(r.configure(s.URL))
		must(r.Start())
		r.Link = s.link(r.Addr())
	}
}

// replicaURLs returns where workers find the replicas.
func (s *store) replicaURLs() (urls []string) {
	for _, r := range s.Replicas {
		urls = append(urls, "http://"+r.Link.Addr())
	}
	return urls
}

func (r *replica) configuration() string { return filepath.Join(r.Dir(), "randflaked.yaml") }

func (r *replica) configure(store string) error {
	text := fmt.Sprintf(`listen: %s
audit: {file: %q}
spaces: [{name: %s, kind: randflake, store: %q, counters: [{name: %s}, {name: %s}]}]
principals: [{name: workers, tokenHashes: [%x]}]
rules: [{principals: [workers], spaces: ["*"], verbs: [lease, list, count], quota: {rate: 1000000}}]
`, r.Addr(), filepath.Join(r.Dir(), "audit"), spaceName, store, orders, tickets, sha256.Sum256([]byte(token)))
	return os.WriteFile(r.configuration(), []byte(text), 0o600)
}

// Start starts the process, and waits until it serves.
func (r *replica) Start() error {
	return r.Launch(exec.Command(r.program, "--config", r.configuration()), servers.Ready("http://"+r.Addr()+"/readyz"))
}
