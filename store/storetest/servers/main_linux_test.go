package servers

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// required is the variable that make sets once it has installed the servers: without them the tests
// fail then, and are skipped otherwise.
const required = "RANDFLAKE_SERVERS"

func TestMain(m *testing.M) {
	_, noPostgres := postgresBinary("initdb")
	_, noRedis := exec.LookPath("redis-server")
	_, noMySQL := mysqlBinary("mariadbd")
	if missing := cmp.Or(noPostgres, noRedis, noMySQL); missing != nil && os.Getenv(required) == "" {
		fmt.Fprintf(os.Stderr, "skipped: %v; \"make servers\" installs servers\n", missing)
		return
	}
	os.Exit(m.Run())
}
