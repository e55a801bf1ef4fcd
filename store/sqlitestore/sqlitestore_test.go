package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var put, get = storetest.Put, storetest.Get

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, path string) *Engine {
	t.Helper()
	e, err := New(path)
	must(t, err)
	return e
}

// start makes a name for a file, and opens handles on it.
func start(t *testing.T) func(t *testing.T) store.Engine {
	path := filepath.Join(t.TempDir(), "100% of us?#@ü.db")
	return func(t *testing.T) store.Engine { return open(t, path) }
}

func TestEngine(t *testing.T) { storetest.Run(t, start) }

func TestLeases(t *testing.T) { leasetest.Run(t, leasetest.OnEngine(start)) }
