package peers

import (
	"crypto/rand"
	"testing"

	theirs "github.com/oklog/ulid/v2"

	ours "github.com/randflake/randflake/ulid"
)

// TestULIDText has both ULIDs agree on the text form, in both directions.
func TestULIDText(t *testing.T) {
	var id ours.ID
	for range 10_000 {
		rand.Read(id[:])
		parsed, err := ours.Parse(theirs.ULID(id).String())
		back, backErr := theirs.ParseStrict(id.String())
		if parsed != id || err != nil || ours.ID(back) != id || backErr != nil {
			t.Fatalf("%x: %s and %s, %v, %v", id[:], id, theirs.ULID(id), err, backErr)
		}
	}
}
