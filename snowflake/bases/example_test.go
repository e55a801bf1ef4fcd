package bases_test

import (
	"fmt"

	"github.com/randflake/randflake/snowflake"
	"github.com/randflake/randflake/snowflake/bases"
)

func ExampleFormat58() {
	id := snowflake.ID(1541815603606036480)
	fmt.Println(id, bases.Format32(id), bases.Format58(id), bases.Format62(id))

	id, err := bases.Parse58("11111111112")
	fmt.Println(id, err)
	// Output:
	// 1541815603606036480 1apd13th1f800 4aaW4SzAyQK 1ptWyK4WgZU
	// 1 <nil>
}

// As github.com/bwmarrin/snowflake writes them.
func ExampleFormat36() {
	id := snowflake.ID(1541815603606036480)
	fmt.Println(bases.Format36(id), bases.Format64(id))
	fmt.Println(bases.Format2(id))

	id, err := bases.Parse36("bppc0m3ju134")
	fmt.Println(id, err)
	// Output:
	// bppc0m3ju134 MTU0MTgxNTYwMzYwNjAzNjQ4MA==
	// 1010101100101101000010001111101100010000101111010000000000000
	// 1541815603606036480 <nil>
}
