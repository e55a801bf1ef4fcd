//go:build linux

package pgstore

import (
	"testing"

	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestEngine(t *testing.T) {
	server := sharedServer(t)
	storetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := newURL(server)
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}

func TestLeases(t *testing.T) {
	server := sharedServer(t)
	leasetest.Run(t, leasetest.OnEngine(func(t *testing.T) func(t *testing.T) store.Engine {
		where := newURL(server)
		return func(t *testing.T) store.Engine { return open(t, where) }
	}))
}

// TestPgBouncer: a pooler gives each transaction another of three sessions.
func TestPgBouncer(t *testing.T) {
	server := sharedServer(t)
	addr := startPgBouncer(t, server)
	storetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := through(t, addr, newURL(server))
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}
