package lease_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// TestCopies plays with copies of processes, some with old clocks. A copy whose twin has renewed or released their lease
// is never spared, whatever became of the nodes since.
func TestCopies(t *testing.T) {
	plays, _ := strconv.Atoi(os.Getenv("PLAYS"))
	if plays == 0 {
		plays = 60
	}
	type copied struct {
		lease.Record
		group int
		dirty bool
	}
	tried, wrong, spared, needless := 0, 0, 0, 0
	for seed := range plays {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		w := newSite(t)
		var all []*copied
		for step := range 300 {
			w.now = w.now.Add(time.Duration(rng.IntN(60)) * time.Second)
			p := w.start([]time.Duration{0, 0, 0, 20 * time.Second, -20 * time.Second, -20 * time.Minute, -24 * time.Hour}[rng.IntN(7)])
			if rng.IntN(60) == 0 {
				p = w.start(14 * time.Minute)
			}
			switch k := rng.IntN(24); {
			case k == 0:
				w.now = w.now.Add(time.Duration(rng.IntN(1500)) * time.Second)
			case k == 1:
				w.start(0).ReportLoss(t.Context())
			case k == 2 && rng.IntN(3) == 0:
				w.start(0).space.ForgiveClock(t.Context(), w.now.Add(662*time.Second))
			case k < 9:
				p = w.start(0)
				if r, err := p.acquire([]int{131072, 65536, 16384, 16384, 16384, 16384}[rng.IntN(6)]); err == nil {
					all = append(all, &copied{r, seed*1000 + step, false}, &copied{r, seed*1000 + step, false})
				}
			case len(all) > 0:
				i := rng.IntN(len(all))
				c := all[i]
				var err error
				if rng.IntN(5) == 0 {
					err = p.Release(t.Context(), c.Record, time.Unix(c.Start+rng.Int64N(c.HighWater-c.Start+2)-1, 0))
				} else {
					var r lease.Record
					if r, err = p.renew(c.Record); err == nil {
						c.Record = r
					}
				}
				if err == nil {
					for _, other := range all {
						if other != c && other.group == c.group {
							other.dirty = true
						}
					}
				}
				var lost *lease.LostError
				if errors.As(err, &lost) {
					tried++
					if s := lost.Spares(c.HighWater); s && c.dirty {
						if wrong++; wrong < 4 {
							t.Errorf("seed %d: spared: %+v, %+v", seed, c.Record, lost)
						}
					} else if s {
						spared++
					} else if !c.dirty && c.HighWater >= w.now.Unix() {
						if needless++; needless < 4 {
							t.Logf("seed %d at %d: not spared: %+v, %+v", seed, w.now.Unix(), c.Record, lost)
						}
					}
				}
				if err == nil || lost != nil && rng.IntN(3) == 0 {
					if lost != nil || rng.IntN(2) == 0 {
						all = append(all[:i], all[i+1:]...)
					}
				}
			}
		}
	}
	t.Logf("%d of %d that were lost were spared with reason, %d without; %d stopped without reason", spared, tried, wrong, needless)
}
