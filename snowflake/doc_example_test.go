package snowflake_test

import (
	"fmt"

	"github.com/randflake/randflake/snowflake"
)

// Worker number 7 is this process's own: nobody else may have it. Keep gets such numbers from a store.
func Example() {
	layout := snowflake.Twitter()
	generator, err := snowflake.New(layout, snowflake.Forever(7))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer generator.Close()

	first, err := generator.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	second, err := generator.Generate()
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := layout.Inspect(second)
	fmt.Println(first < second, fields.Static, err)
	// Output:
	// true map[datacenter:0 worker:7] <nil>
}
