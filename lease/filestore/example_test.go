package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/filestore"
)

// A deployment creates the store once, and services open it.
func Example() {
	parent, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(parent)
	dir := filepath.Join(parent, "leases")

	_, err = filestore.Open(dir)
	fmt.Println("no store yet:", errors.Is(err, lease.ErrNoStore))

	// The secret is new, too: no other store ever granted leases for it.
	if _, err = filestore.Create(dir, filestore.ForNewSecret()); err != nil {
		panic(err)
	}
	_, err = filestore.Create(dir)
	fmt.Println("never replaced:", errors.Is(err, fs.ErrExist))

	store, err := filestore.Open(dir)
	if err != nil {
		panic(err)
	}
	defer store.Close()
	rec, err := store.Acquire(context.Background(), lease.Request{Nodes: 4, TTL: 10 * time.Minute})
	if err != nil {
		panic(err)
	}
	fmt.Println("nodes", rec.FirstNode, "to", rec.LastNode)
	// Output:
	// no store yet: true
	// never replaced: true
	// nodes 0 to 3
}
