package cli

import (
	"testing"

	"github.com/randflake/randflake/ulid"
)

func TestULIDFormats(t *testing.T) {
	id := ulid.ID{0: 0xff}
	for _, f := range ulidFormats {
		b := f.Append(nil, id)
		if len(b) != f.Longest {
			t.Errorf("%s: %q of %d bytes, want %d", f.Name, b, len(b), f.Longest)
		}
		if allocs := testing.AllocsPerRun(100, func() { f.Append(b[:0], id) }); allocs != 0 {
			t.Errorf("%s: %v allocations", f.Name, allocs)
		}
	}
}
