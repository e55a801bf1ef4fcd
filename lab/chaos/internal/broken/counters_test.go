package broken

import (
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// TestReturnAnyway: the bug repeats numbers of another handle.
func TestReturnAnyway(t *testing.T) {
	memory := storetest.NewMemory()
	open := func(engine store.Engine) *counter.Counter {
		t.Helper()
		space, err := store.Open(t.Context(), engine)
		if err != nil {
			t.Fatal(err)
		}
		c, err := counter.On(space).Open(t.Context(), "orders", counter.OrCreate())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if _, err := store.Create(t.Context(), memory.Connect(), store.ForNewSecret()); err != nil {
		t.Fatal(err)
	}
	returning, other := open(ReturnAnyway.Plant(memory.Connect())), open(memory.Connect())
	n, err := other.Next()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := returning.Return(t.Context()); back != 10 || err != nil {
		t.Fatalf("%d given back, %v", back, err)
	}
	if again, err := open(memory.Connect()).Next(); again != n || err != nil {
		t.Errorf("%d, %v, want %d again", again, err, n)
	}
}
