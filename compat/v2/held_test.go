package randflake

import (
	"errors"
	"testing"
	"time"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/hidden"
)

// TestHeldUp: a goroutine is held up when it has read the clock, or the newest second for its
// claim, while others go on to a later second, far ahead, or use that up. It does not see the clock
// go back, as it didn't. An error of the clock uses nothing up.
func TestHeldUp(t *testing.T) {
	const start, all = Epoch + 1000, int(MaxSequence) + 1
	for _, tt := range []struct {
		inside      bool        // when the newest second was read
		step, ahead UnixSeconds // of the clock, for the goroutine and for the others
		ids         int         // that the others make
		want        error
	}{
		{false, 0, 1, 1, nil},
		{false, 100, 1, 1, nil},
		{false, 100, 10, 1, nil},
		{false, 100, 11, 1, nil},
		{false, 100, 99, 1, nil},
		{false, 100, 1, all, ErrResourceExhausted},

		{true, 0, 1, 1, nil},
		{true, 0, 1, all, ErrResourceExhausted},
		{true, 0, 11, 1, nil},
		{true, 0, 11, all, ErrResourceExhausted},
	} {
		var g *Generator
		var broken error
		now := UnixSeconds(start)
		held := false
		others := func(here bool) {
			if !held || !here {
				return
			}
			held = false
			now += tt.ahead
			for range tt.ids {
				if _, err := g.Generate(); err != nil {
					t.Error(err)
				}
			}
		}
		g, _ = New(Config{
			Lease:  Lease{1, start, start + 300},
			Secret: make([]byte, 16),
			Clock: func() (UnixSeconds, error) {
				read := now
				others(!tt.inside)
				return read, broken
			},
		})
		inner := root.WithClock(func() time.Time {
			read := g.newest.Load()
			others(tt.inside)
			return time.Unix(read, 0)
		})
		g.inner, _ = root.New(root.Secret(hidden.KeyOf([16]byte{})), g.inner.Lease(), root.Strict(), inner)

		g.Generate()
		held = true
		now += tt.step
		for range 2 { // the first time they come in between
			id, err := g.Generate()
			if err != tt.want || now != start+tt.step+tt.ahead {
				t.Errorf("%+v: %v, at second %d", tt, err, now-start)
			}
			if second := g.Inspect(id).Timestamp; err == nil && second != now {
				t.Errorf("%+v: second %d, want %d", tt, second-start, now-start)
			}
		}

		broken = errors.New("no clock")
		if id, err := g.Generate(); id != 0 || err != broken {
			t.Errorf("without a clock: %d, %v", id, err)
		}
	}
}
