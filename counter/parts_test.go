package counter

import (
	"testing"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

// TestClosedPart: a goroutine that stopped just before it takes a number gets none from a part that was given back meanwhile.
func TestClosedPart(t *testing.T) {
	space, err := filestore.Create(t.TempDir(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	c, err := On(space).Open(t.Context(), "orders", OrCreate(), Unordered(), WithRunLength(1e7, 1e7))
	if err != nil {
		t.Fatal(err)
	}
	for want := range int64(2) { // the second one from a part
		if n, err := c.Next(); n != want+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	var held []*run
	for i := range c.parts {
		held = append(held, c.parts[i].Load())
	}
	if n, err := c.Return(t.Context()); n != 1e7-2 || err != nil {
		t.Errorf("%d returned, %v", n, err)
	}
	for _, b := range held {
		if n, _ := b.take(make([]int64, 1)); n != 0 {
			t.Error("a number after its part was given back")
		}
	}
}
