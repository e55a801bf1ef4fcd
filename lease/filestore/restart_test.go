package filestore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/filestore"
	"github.com/randflake/randflake/lease/leasetest"
)

// A process makes IDs, ends, cleanly or not, and is started again after the clock has stepped. No
// ID is made twice, and the new process makes IDs at once.
func TestRestartAfterAClockStep(t *testing.T) {
	for _, step := range []time.Duration{0, -time.Second, -time.Hour, time.Second, 365 * 24 * time.Hour, -365 * 24 * time.Hour} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("step %v, clean %v", step, clean), func(t *testing.T) {
				clock := leasetest.NewClock(time.Unix(randflake.Epoch, 0).Add(3 * 365 * 24 * time.Hour))
				dir := t.TempDir() + "/leases"
				store, err := filestore.Create(dir, filestore.ForNewSecret(), filestore.WithClock(clock.Now))
				if err != nil {
					t.Fatal(err)
				}
				secret := randflake.NewSecret()
				seen := map[randflake.ID]bool{}
				for range 4 {
					life(t, dir, secret, clock, clean, seen)
					clock.Advance(step)
				}
				clock.Advance(-2 * step) // into seconds that were used before
				life(t, dir, secret, clock, clean, seen)
				if len(seen) != 5*3*1000 {
					t.Errorf("%d IDs", len(seen))
				}
				store.Close()
			})
		}
	}
}

// life is what one process does: it takes a lease and makes IDs over three seconds.
func life(t *testing.T, dir string, secret randflake.Secret, clock *leasetest.Clock, clean bool, seen map[randflake.ID]bool) {
	t.Helper()
	store, err := filestore.Open(dir, filestore.WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	held, err := store.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	generator, err := randflake.New(secret, held.Lease(), randflake.WithClock(clock.Now))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for range 1000 {
			id, err := generator.Generate()
			if err != nil {
				t.Fatal(err)
			}
			if seen[id] {
				t.Fatalf("ID %v was made twice", id)
			}
			seen[id] = true
		}
		clock.Advance(time.Second)
	}
	if !clean {
		return // as if killed
	}
	lastUsed, err := generator.Close()
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Release(t.Context(), held, lastUsed); err != nil {
		t.Fatal(err)
	}
}
