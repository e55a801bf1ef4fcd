package leasetest_test

import (
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func TestMemory(t *testing.T) {
	leasetest.Run(t, func(*testing.T) func(*testing.T) lease.Engine {
		m := leasetest.NewMemory()
		m.SetClock(time.Now)
		return func(*testing.T) lease.Engine { return m.Connect() }
	})
}

// TestNotebook: the engine of the example passes.
func TestNotebook(t *testing.T) { leasetest.Run(t, startNotebook) }
