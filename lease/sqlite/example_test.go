package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/sqlite"
)

// Processes of one machine share a file of SQLite, which may have tables of their own.
func Example() {
	dir, err := os.MkdirTemp("", "") // of a program: one that lasts, such as /var/lib/app
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	engine, err := sqlite.New(filepath.Join(dir, "app.db"))
	if err != nil {
		log.Fatal(err)
	}
	space, err := lease.Create(ctx, engine, lease.Config{NeverUsed: true}) // once, and then lease.Open
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	fmt.Println(space.Limits().Nodes, "nodes") // for lease.Keep, whose example goes on from here
	// Output: 131072 nodes
}
