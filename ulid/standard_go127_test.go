//go:build go1.27

package ulid_test

import (
	"fmt"
	"testing"
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

// Both have the same text and the same order.
func TestStandardUUID(t *testing.T) {
	g, err := ulid.New()
	if err != nil {
		t.Fatal(err)
	}
	var last ulid.ID
	for range 1000 {
		id, err := g.Generate()
		if err != nil {
			t.Fatal(err)
		}
		u, err := uuid.Parse(ulid.FormatUUID(id))
		if err != nil || u != uuid.UUID(id) || uuid.UUID(last).Compare(u) != last.Compare(id) {
			t.Fatalf("%s is %s, %v, after %s", id, u, err, last)
		}
		last = id
	}
	u := uuid.NewV7()
	if id, err := ulid.ParseUUID(u.String()); err != nil || id != ulid.ID(u) {
		t.Errorf("%s is %s, %v", u, id, err)
	}
}
