package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/snowflake"
)

// mintSnowflakes writes n IDs of a worker.
func (t *tool) mintSnowflakes(ctx context.Context, h home, layout *snowflake.Layout, n int64, f format[snowflake.ID]) error {
	if err := t.checkLifetime(layout, time.Now()); err != nil {
		return err
	}
	if err := h.firstUse(t, uint32(min(layout.Workers(), randflake.MaxNode+1))); err != nil {
		return err
	}
	space, err := h.openSpace(ctx)
	if err != nil {
		return err
	}
	defer space.Close()
	keeper, err := keeping(ctx, 1, func(ctx context.Context, options ...lease.Option) (*lease.Keeper[*snowflake.Generator], error) {
		return snowflake.Keep(ctx, space, layout, snowflake.Leasing(options...))
	})
	if err != nil {
		return err
	}
	defer keeper.Close()
	return newMinter(n, 1, f, filling(keeper)).mint(ctx, t)
}

// checkLifetime returns an error if a layout has ended, and prints a note if it ends within five years.
func (t *tool) checkLifetime(layout *snowflake.Layout, now time.Time) error {
	end := layout.Expires()
	switch {
	case !now.Before(end):
		return fmt.Errorf("layout %s ended at %s: want another layout", layout.Name(), end.Format(time.RFC3339))
	case !now.AddDate(5, 0, 0).Before(end):
		t.note(fmt.Errorf("layout %s ends at %s: want another layout for something new", layout.Name(), end.Format(time.RFC3339)))
	}
	return nil
}

// spaceOf returns the name of the ID space of a layout: the name of the first preset that makes the same IDs, or else
// the meaning of the layout. Layouts of one space need one store, or they repeat each other's IDs.
func spaceOf(layout *snowflake.Layout) string {
	space := meaning(layout)
	for _, preset := range snowflake.Presets() {
		if meaning(preset) == space {
			return preset.Name()
		}
	}
	return space
}

// meaning describes the bits of an ID, for instance "time41-worker10-sequence12-1ms-1288834974657". Layouts with the
// same meaning make the same IDs. Names and widths of adjacent static parts don't matter: together they are the worker
// number.
func meaning(layout *snowflake.Layout) string {
	var b strings.Builder
	statics := 0
	for _, p := range append(layout.Parts(), snowflake.Part{}) {
		switch p.Name {
		case "time", "rollback", "sequence", "":
			if statics > 0 {
				fmt.Fprintf(&b, "worker%d-", statics)
			}
			statics = 0
			if p.Bits > 0 {
				fmt.Fprintf(&b, "%s%d-", p.Name, p.Bits)
			}
		default:
			statics += p.Bits
		}
	}
	return fmt.Sprintf("%s%dms-%d", &b, layout.Unit().Milliseconds(), layout.Epoch().UnixMilli())
}
