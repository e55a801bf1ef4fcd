package leasetest

import (
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

func TestMemory(t *testing.T) {
	Run(t, func(t *testing.T) func(t *testing.T) lease.Engine {
		m := NewMemory()
		m.SetClock(time.Now)
		return func(t *testing.T) lease.Engine { return m.Connect() }
	})
}
