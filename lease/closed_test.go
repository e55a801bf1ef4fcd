package lease

import (
	"errors"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

// TestReleaseInClosedCell: while another caller is about to merge cells, a lease in there can't be renewed, but released.
func TestReleaseInClosedCell(t *testing.T) {
	space, err := filestore.Create(t.TempDir(), store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	defer space.Close()
	leases := On(space)
	held, err := leases.Acquire(t.Context(), Request{Nodes: 2, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	all, err := decodeCells(space.Assume().Meta.Body)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Closed = true
	}
	if done, _, err := space.Swap(t.Context(), space.Assume(), store.Change{Body: all.encode()}); !done || err != nil {
		t.Fatal(done, err)
	}
	if _, err := leases.Renew(t.Context(), held, Renewal{TTL: time.Minute, Token: NewToken(time.Now())}); !errors.Is(err, ErrLost) {
		t.Errorf("Renew: %v, want ErrLost", err)
	}
	if err := leases.Release(t.Context(), held, time.Unix(held.Start, 0)); err != nil {
		t.Errorf("Release: %v", err)
	}
}
