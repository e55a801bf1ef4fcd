package door

import (
	"testing"

	"github.com/randflake/randflake/internal/testing/idtest"
)

// TestDoors: what was added opens by both of its types together, and not by one alone.
func TestDoors(t *testing.T) {
	type key struct{ n int }
	Add(func(n int) key { return key{n} })
	if got := Open[key](7); got != (key{7}) {
		t.Errorf("opens to %v", got)
	}
	idtest.Unmade(t, "is no generator of this module", map[string]func(){
		"another To":   func() { Open[string](7) },
		"another From": func() { Open[key]("7") },
	})
}
