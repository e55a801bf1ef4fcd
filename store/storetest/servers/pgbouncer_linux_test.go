package servers

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPgBouncer: it leads to the server, and is there again after it was killed.
func TestPgBouncer(t *testing.T) {
	p := startPostgresForTest(t, nil)
	b, err := StartPgBouncer(filepath.Join(t.TempDir(), "bouncer"), p, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Kill() })
	through := *p
	through.Server = b.Server
	for range 2 {
		if got := query(t, &through, "SELECT 1"); got != "1" {
			t.Errorf("through the pooler: %q", got)
		}
		if err := b.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := b.Start(); err != nil {
			t.Fatal(err)
		}
	}
	b2 := PgBouncer{&Server{kind: "pgbouncer", dir: b.dir, port: b.port, owner: b.owner}, p, 2}
	if err := b2.Start(); err == nil || !strings.Contains(err.Error(), "Address already in use") {
		b2.Kill()
		t.Errorf("on a port that is taken: error %v, want one about the address", err)
	}
}
