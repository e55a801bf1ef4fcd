package randflake

import (
	"errors"
	"testing"
	"time"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/anykey"
)

// TestHeldUp: a goroutine is held up when it has read the clock, or the newest second for its claim, while others go on to a later
// second, far ahead, or use that up. It does not see the clock go back, as it didn't. An error of the clock uses nothing up.
func TestHeldUp(t *testing.T) {
	const start, all = Epoch + 1000, int(MaxSequence) + 1
	for _, tt := range []struct {
		inside      bool        // when the newest second was read
		step, ahead UnixSeconds // of the clock, for the goroutine and for the others
		ids         int         // that the others make
		want        error
	}{
		{false, 0, 1, 1, nil}, {false, 100, 1, 1, nil}, {false, 100, 10, 1, nil}, {false, 100, 11, 1, nil}, {false, 100, 99, 1, nil}, {false, 100, 1, all, ErrResourceExhausted},
		{true, 0, 1, 1, nil}, {true, 0, 1, all, ErrResourceExhausted}, {true, 0, 11, 1, nil}, {true, 0, 11, all, ErrResourceExhausted},
	} {
		var g *Generator
		now, held, broken := UnixSeconds(start), false, error(nil)
		others := func(here bool) {
			if !held || !here {
				return
			}
			held, now = false, now+tt.ahead
			for range tt.ids {
				if _, err := g.Generate(); err != nil {
					t.Error(err)
				}
			}
		}
		g, _ = New(Config{Lease{1, start, start + 300}, make([]byte, 16), func() (UnixSeconds, error) {
			read := now
			others(!tt.inside)
			return read, broken
		}})
		g.inner, _ = root.New(anykey.Secret([16]byte{}).(root.Secret), g.inner.Lease(), root.Strict(), root.WithClock(func() time.Time {
			read := g.newest.Load()
			others(tt.inside)
			return time.Unix(read, 0)
		}))
		g.Generate()
		held, now = true, now+tt.step
		for range 2 { // the first time they come in between
			if id, err := g.Generate(); err != tt.want || err == nil && g.Inspect(id).Timestamp != now || now != start+tt.step+tt.ahead {
				t.Errorf("%+v: second %d, %v, want %d", tt, g.Inspect(id).Timestamp-start, err, now-start)
			}
		}
		broken = errors.New("no clock")
		if id, err := g.Generate(); id != 0 || err != broken {
			t.Errorf("without a clock: %d, %v", id, err)
		}
	}
}
