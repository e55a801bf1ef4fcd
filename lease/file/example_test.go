package file_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/store"
)

// Two processes of one machine share a directory, and so never make the same ID.
func Example() {
	parent, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "leases")
	created, err := file.Create(dir, store.ForNewSecret()) // once, before the first process starts
	if err != nil {
		log.Fatal(err)
	}
	created.Close()

	secret := randflake.NewSecret()
	nodes := make(map[uint32]bool)
	for range 2 { // each process
		space, err := file.Open(dir)
		if err != nil {
			log.Fatal(err)
		}
		defer space.Close()
		keeper, err := lease.Keep(context.Background(), lease.On(space), secret)
		if err != nil {
			log.Fatal(err)
		}
		defer keeper.Close()
		nodes[keeper.Generator().Lease().FirstNode] = true
	}
	fmt.Println("nodes:", len(nodes))
	// Output: nodes: 2
}
