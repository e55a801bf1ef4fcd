package randflake

import (
	"testing"
	"time"

	root "github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/anykey"
)

// TestHeldUpInside: between the reading of newest and the claim, others go on to a later second, and use it up or are far
// ahead.
func TestHeldUpInside(t *testing.T) {
	const start = Epoch + 1000
	for name, tt := range map[string]struct {
		ahead UnixSeconds
		ids   int // made in the later second
		want  error
	}{
		"a second ahead":            {1, 1, nil},
		"a second ahead, used up":   {1, int(MaxSequence) + 1, ErrResourceExhausted},
		"11 seconds ahead":          {11, 1, nil},
		"11 seconds ahead, used up": {11, int(MaxSequence) + 1, ErrResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			now := start
			config := Config{Lease: Lease{1, start, start + 100}, Secret: make([]byte, 16), Clock: func() (UnixSeconds, error) { return now, nil }}
			g, err := New(config)
			if err != nil {
				t.Fatal(err)
			}
			others := false
			clock := func() time.Time {
				read := g.newest.Load()
				if !others {
					others = true
					now += tt.ahead
					for range tt.ids {
						if _, err := g.Generate(); err != nil {
							t.Error(err)
						}
					}
				}
				return time.Unix(read, 0)
			}
			g.inner, err = root.New(anykey.Secret([16]byte{}).(root.Secret), g.inner.Lease(), root.WithClock(clock), root.Strict())
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first time they come in between
				id, err := g.Generate()
				if err != tt.want || err == nil && g.Inspect(id).Timestamp != start+tt.ahead {
					t.Errorf("got second %d, %v, want %d, %v", g.Inspect(id).Timestamp-start, err, tt.ahead, tt.want)
				}
			}
		})
	}
}
