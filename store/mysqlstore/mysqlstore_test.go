//go:build linux

package mysqlstore

import (
	"testing"

	"github.com/randflake/randflake/internal/servers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestSuite(t *testing.T) { storetest.Run(t, startOn(shared)) }

// startOn returns what makes a table for a test, and opens handles on it.
func startOn(server *servers.MySQL) func(t *testing.T) func(t *testing.T) store.Engine {
	return func(t *testing.T) func(t *testing.T) store.Engine {
		where := newURL(server)
		return func(t *testing.T) store.Engine { return open(t, where) }
	}
}
