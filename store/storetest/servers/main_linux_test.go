package servers

import (
	"fmt"
	"os"
	"testing"
)

// wanted is the variable that make sets once it has installed the servers. Without it the tests are skipped.
const wanted = "RANDFLAKE_SERVERS"

func TestMain(m *testing.M) {
	if os.Getenv(wanted) == "" {
		fmt.Fprintf(os.Stderr, "skipped: \"make race\" installs servers and sets %s\n", wanted)
		return
	}
	os.Exit(m.Run())
}
