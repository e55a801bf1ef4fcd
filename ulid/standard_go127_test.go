//go:build go1.27

package ulid_test

import (
	"fmt"
	"uuid"

	"github.com/randflake/randflake/ulid"
)

// To a UUID of the standard library (from Go 1.27 on) and back, an ID is a conversion.
func ExampleID_standardUUID() {
	id := ulid.MustParse("01FWHE4YDGFK1SHH6W1G60EECF")
	u := uuid.UUID(id)
	fmt.Println(u)
	fmt.Println(ulid.ID(u))
	// Output:
	// 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
	// 01FWHE4YDGFK1SHH6W1G60EECF
}
