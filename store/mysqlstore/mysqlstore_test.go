//go:build linux

package mysqlstore

import (
	"testing"

	"github.com/randflake/randflake/internal/engines"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

func TestEngine(t *testing.T) { runSuite(t, sharedServer(t)) }

func runSuite(t *testing.T, server *engines.MySQL) {
	storetest.Run(t, func(t *testing.T) func(t *testing.T) store.Engine {
		where := newURL(server)
		return func(t *testing.T) store.Engine { return open(t, where) }
	})
}
