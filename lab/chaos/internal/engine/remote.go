package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A Remote is another engine with two replicas of randflaked before it. Workers ask those, and show who they are by
// certificates or by a token; its URL is that of the other engine.
type Remote struct {
	Engine
	Replicas []*Replica

	authority *authority
	token     string // of those who have no certificate
}

// BuildRandflaked builds the program that replicas run.
func BuildRandflaked(ctx context.Context, to string) error {
	said, err := exec.CommandContext(ctx, "go", "build", "-o", to, "github.com/randflake/randflake/service/cmd/randflaked").CombinedOutput()
	if err != nil {
		return fmt.Errorf("engine: build randflaked: %w\n%s", err, said)
	}
	return nil
}

// StartRemote returns a Start of two replicas on what another Start starts.
func StartRemote(start Start) Start {
	return func(ctx context.Context, s Setup) (_ Engine, err error) {
		r := &Remote{token: "of-the-first-day"}
		if r.Engine, err = start(ctx, s); err != nil {
			return r, err
		}
		dir := filepath.Join(s.Dir, "service")
		if err := os.Mkdir(dir, 0o755); err != nil {
			return r, err
		}
		if r.authority, err = newAuthority(dir); err != nil {
			return r, err
		}
		for _, name := range []string{serverName, workerName} {
			if err := r.authority.sign(name, time.Now().Add(long)); err != nil {
				return r, err
			}
		}
		if err := r.Admit(r.token); err != nil {
			return r, err
		}
		return r, r.start(ctx, s.Randflaked)
	}
}

// Names in certificates.
const (
	serverName = "randflaked.example"
	workerName = "worker.example"
)

func (r *Remote) start(ctx context.Context, program string) error {
	clients, err := r.Certified().tls()
	if err != nil {
		return err
	}
	for i := range 2 {
		replica := &Replica{program: program, config: r.config(), log: r.authority.file(fmt.Sprintf("replica-%d.log", i)), clients: clients}
		r.Replicas = append(r.Replicas, replica)
		if err := replica.Start(); err != nil {
			return err
		}
	}
	for _, replica := range r.Replicas {
		if err := replica.Ready(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Stop implements Engine.
func (r *Remote) Stop() {
	for _, replica := range r.Replicas {
		replica.Kill()
		if replica.link != nil {
			replica.link.close()
		}
	}
	if r.Engine != nil {
		r.Engine.Stop()
	}
}

// Certified is the service for workers that show a certificate, and Bearing for those that have the token.
func (r *Remote) Certified() *Service {
	return &Service{Addresses: r.addresses(), CA: r.authority.file("ca.pem"), Certificate: r.authority.file(workerName + ".pem"), Key: r.authority.file(workerName + ".key")}
}

// Bearing is the service for workers that have the token.
func (r *Remote) Bearing() *Service {
	return &Service{Addresses: r.addresses(), CA: r.authority.file("ca.pem"), Token: r.authority.file("token")}
}

func (r *Remote) addresses() (all []string) {
	for _, replica := range r.Replicas {
		all = append(all, "https://"+replica.link.Address())
	}
	return all
}

// Certify gives workers another certificate, for their next connections, and cuts those that there are.
func (r *Remote) Certify(until time.Time) error {
	if err := r.authority.sign(workerName, until); err != nil {
		return err
	}
	for _, replica := range r.Replicas {
		if err := replica.link.Heal(); err != nil {
			return err
		}
	}
	return nil
}

// Forever is a time until which certificates are good by any clock of a run.
func (r *Remote) Forever() time.Time { return time.Now().Add(long) }

// Admit gives workers a token, and has replicas admit it, and no other one, once they read their configuration again.
func (r *Remote) Admit(token string) error {
	if err := replace(r.authority.file("token"), []byte(token)); err != nil {
		return err
	}
	return r.configure(token)
}

// Revoke has replicas admit no token that workers have.
func (r *Remote) Revoke() error { return r.configure("which nobody has") }

func (r *Remote) configure(token string) error {
	text := fmt.Sprintf(`listen: 127.0.0.1:0
audit: %q
tls: {certificate: %q, key: %q, clientCA: %q}
spaces: [{name: %s, kind: randflake, store: %q}]
counters: [{name: orders, space: %[5]s}, {name: invoices, space: %[5]s, start: 7, stride: 5}, {name: tickets, space: %[5]s}]
principals:
- {name: certified, certificates: {dns: [%[7]s]}}
- {name: bearing, tokens: [%[8]x]}
rules:
- {principals: ["*"], spaces: ["*"], verbs: [lease, list, count], limits: {rate: 1000000}}
`, r.authority.file("audit"), r.authority.file(serverName+".pem"), r.authority.file(serverName+".key"), r.authority.file("ca.pem"),
		space, r.URL(), workerName, sha256.Sum256([]byte(token)))
	return replace(r.config(), []byte(text))
}

func (r *Remote) config() string { return r.authority.file("randflaked.yaml") }
