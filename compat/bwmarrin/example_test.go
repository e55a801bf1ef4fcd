package snowflake_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/randflake/randflake/compat/bwmarrin"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

func Example() {
	node, err := snowflake.NewNode(1)
	if err != nil {
		fmt.Println(err)
		return
	}
	id := node.Generate()
	fmt.Println("node", id.Node(), "later:", node.Generate() > id)

	known := snowflake.ID(1541815603606036480)
	fmt.Println(known, known.Base36(), known.Base58(), known.Time())
	// Output:
	// node 1 later: true
	// 1541815603606036480 bppc0m3ju134 4zzv4rZaYpj 1656432460105
}

// Memory forgets everything, so it is for tests: a service opens a space that lasts, by package lease/url.
func ExampleKeep() {
	ctx := context.Background()
	config := lease.Config{Limits: lease.Limits{Nodes: 1024}, NeverUsed: true} // as many as NodeBits have room for
	space, err := lease.Create(ctx, leasetest.NewMemory().Connect(), config)
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := snowflake.Keep(ctx, space, lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	fmt.Println("node", node.Generate().Node())
	// Output: node 0
}
