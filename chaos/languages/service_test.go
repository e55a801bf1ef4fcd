package languages

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/redisstore"
	"github.com/randflake/randflake/store/storetest/servers"
)

// A town is a service with two replicas on a server of Redis, and what lives by it.
type town struct {
	*testing.T
	dir      string
	secret   randflake.Secret
	replicas [2]*replica
}

// A replica is a process of randflaked, which keeps its address when it starts again.
type replica struct {
	*testing.T
	args       []string
	audit, url string
	process    *servers.Process
}

// A space has room for a few leases of so many nodes.
const (
	ranges = 8
	nodes  = (randflake.MaxNode + 1) / ranges
)

// newTown starts a service in whose only space principals may lease nodes. Their tokens are their names' hashes.
func newTown(t *testing.T, principals ...string) *town {
	w := &town{T: t, dir: t.TempDir(), secret: randflake.NewSecret()}
	redis, err := servers.StartRedis(filepath.Join(w.dir, "redis"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { redis.Kill() })
	space, err := redisstore.Create(t.Context(), redis.URL(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	for range ranges - len(principals) { // so that who comes next must take what another one had
		if _, err := lease.On(space).Acquire(t.Context(), lease.Request{Nodes: nodes, TTL: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	space.Close()
	var names strings.Builder
	for _, name := range principals {
		fmt.Fprintf(&names, "- {name: %s, tokens: [%x]}\n", name, sha256.Sum256([]byte(tokenOf(name))))
	}
	for i := range w.replicas {
		address, config := freeAddress(t), filepath.Join(w.dir, fmt.Sprintf("%d.yaml", i))
		r := &replica{T: t, args: []string{"--config", config}, audit: config + ".audit", url: "http://" + address}
		text := fmt.Sprintf("listen: %s\naudit: %s\nspaces:\n- {name: life, kind: randflake, store: %q, secret: none}\n"+
			"principals:\n%srules:\n- {principals: ['*'], spaces: [life], verbs: [lease]}\n", address, r.audit, redis.URL(), &names)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.replicas[i] = r
		r.start()
	}
	return w
}

func tokenOf(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte("token of "+name))) }

func freeAddress(t *testing.T) string {
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// start starts the replica, and waits until it is ready. Another program may have its port for a moment.
func (r *replica) start() {
	r.Helper()
	await(r.T, "a replica is ready", func() bool {
		if r.process == nil || r.process.Ended() {
			cmd := exec.Command(program, r.args...)
			cmd.Stderr = r.Output()
			var err error
			if r.process, err = servers.StartProcess(cmd); err != nil {
				r.Fatal(err)
			}
			r.Cleanup(r.process.Kill)
		}
		a, err := http.Get(r.url + "/readyz")
		if err != nil {
			return false
		}
		a.Body.Close()
		return a.StatusCode == http.StatusOK
	})
}

// await waits until something is so, for as long as a slow machine may take.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}
