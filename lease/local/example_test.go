package local_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
)

// TestMain has all tests and examples leave the user's own directories alone.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "LocalAppData"} {
		os.Setenv(name, home)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}

func ExampleKeep() {
	keeper, err := local.Keep(context.Background(), "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()

	id, err := keeper.Generator().Generate()
	if err != nil {
		log.Print(err)
		return
	}
	same, err := randflake.Parse(id.String())
	fmt.Println(same == id, err)
	// Output: true <nil>
}
