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
)

// Processes of one machine share a directory.
func Example() {
	dir, err := os.MkdirTemp("", "") // of a program: one that lasts, such as /var/lib/app
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	engine, err := file.New(filepath.Join(dir, "leases"))
	if err != nil {
		log.Fatal(err)
	}
	// A program has its secret from randflake secret new, and calls lease.Open for a space that is
	// there.
	secret := randflake.NewSecret()
	space, err := lease.Create(ctx, engine, lease.Config{New: true, Check: secret.CheckValue()})
	if err != nil {
		log.Fatal(err)
	}
	defer space.Close()
	keeper, err := lease.Keep(ctx, space, secret)
	if err != nil {
		log.Fatal(err)
	}
	defer keeper.Close()
	ids := make([]randflake.ID, 1000)
	n, err := keeper.Generator().Fill(ids)
	fmt.Println(n, "IDs:", err)
	// Output: 1000 IDs: <nil>
}
