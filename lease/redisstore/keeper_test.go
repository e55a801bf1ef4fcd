package redisstore

import (
	"log/slog"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// TestKeeper makes IDs under leases of the store, end to end, by several keepers.
func TestKeeper(t *testing.T) {
	url := newPlace()
	s, err := Create(t.Context(), url, ForNewSecret())
	mustDo(t, err)
	defer s.Close()
	secret := randflake.NewSecret()
	seen := make(map[randflake.ID]bool)
	for range 3 {
		var keepers []*lease.Keeper
		for range 2 {
			k, err := lease.Keep(t.Context(), s, secret, lease.Logger(slog.New(slog.DiscardHandler)), lease.TTL(time.Minute))
			mustDo(t, err)
			keepers = append(keepers, k)
		}
		for range 1000 {
			for _, k := range keepers {
				id, err := k.Generator().Wait(t.Context())
				mustDo(t, err)
				if seen[id] {
					t.Fatalf("ID %v was made twice", id)
				}
				seen[id] = true
			}
		}
		for _, k := range keepers {
			mustDo(t, k.Close())
		}
	}
	records, err := s.List(t.Context())
	mustDo(t, err)
	for _, rec := range records {
		if rec.Owner != (lease.Owner{}) {
			t.Errorf("not given back: %+v", rec)
		}
	}
}
