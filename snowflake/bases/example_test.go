package bases_test

import (
	"fmt"

	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
)

// The last three are as github.com/bwmarrin/snowflake writes them.
func Example() {
	id := snowflake.ID(1541815603606036480)
	fmt.Println(bases.Format32(id), bases.Format58(id), bases.Format62(id))
	fmt.Println(bases.Format36(id), bases.Format64(id), bases.Format2(id))
	// Output:
	// 1apd13th1f800 4aaW4SzAyQK 1ptWyK4WgZU
	// bppc0m3ju134 MTU0MTgxNTYwMzYwNjAzNjQ4MA== 1010101100101101000010001111101100010000101111010000000000000
}
