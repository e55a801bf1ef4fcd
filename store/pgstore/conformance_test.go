//go:build linux

package pgstore

import (
	"path/filepath"
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestSuite(t *testing.T) {
	server := shared
	storetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := newURL(server)
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}

// TestPgBouncer: a pooler gives each transaction another of three sessions.
func TestPgBouncer(t *testing.T) {
	server := shared
	pooler, err := servers.StartPgBouncer(filepath.Join(t.TempDir(), "pooler"), server, 3)
	must(t, err)
	t.Cleanup(func() { pooler.Kill() })
	storetest.RunEngine(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := through(t, pooler.Addr(), newURL(server))
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}
