package cli

import (
	"context"
	"errors"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// mintSnowflakes takes the lease of a worker number, writes n IDs and gives the lease back.
func (t *tool) mintSnowflakes(ctx context.Context, h home, layout *snowflake.Layout, n int64, f Format[snowflake.ID]) error {
	if err := t.checkLifetime(layout, time.Now()); err != nil {
		return err
	}
	space, err := h.openKeyless(ctx, t)
	if err != nil {
		return err
	}
	defer space.Close()
	keeper, err := keepWorker(ctx, lease.On(space), layout)
	if err != nil {
		return err
	}
	return snowflakes(keeper).mint(ctx, t, n, 1, f)
}

// checkLifetime returns an error when a layout has ended, and notes when it soon will.
func (t *tool) checkLifetime(layout *snowflake.Layout, now time.Time) error {
	err := layout.Lifetime(now)
	if errors.Is(err, snowflake.ErrEnding) {
		t.note(err)
		return nil
	}
	return err
}

// snowflakes is the leasehold of a keeper.
func snowflakes(keeper *snowflake.Keeper) leasehold[snowflake.ID] {
	return leasehold[snowflake.ID]{keeper.Generator(), keeper.Keeping, patience}
}

// keepWorker takes the lease of a worker number. Waiting is left to Wait, which a signal can stop.
func keepWorker(ctx context.Context, leases lease.Store, layout *snowflake.Layout) (*snowflake.Keeper, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	options, err := leasing(ctx, leases)
	if err != nil {
		return nil, err
	}
	return snowflake.Keep(ctx, leases, layout, snowflake.RefuseWhenUsedUp(), snowflake.Leasing(options...))
}

// spaceOf returns the name of the ID space of a layout: that of the first preset which makes the same
// IDs. Layouts of one space need one store, or they repeat each other's IDs.
func spaceOf(layout *snowflake.Layout) string {
	for _, preset := range snowflake.Presets() {
		if makeSameIDs(preset, layout) {
			return preset.Name()
		}
	}
	return layout.Name()
}

// makeSameIDs reports whether each bit of an ID has the same meaning in both layouts. Static fields need
// not be divided up alike: together they are the worker number.
func makeSameIDs(a, b *snowflake.Layout) bool {
	if a.Bits() != b.Bits() {
		return false
	}
	for bit := range a.Bits() {
		p, _ := a.Inspect(1 << bit)
		q, _ := b.Inspect(1 << bit)
		if !p.Time.Equal(q.Time) || p.Rollback != q.Rollback || p.Sequence != q.Sequence {
			return false
		}
	}
	return true
}
