// Package thousand has a thousand processes take leases of one window at once.
package thousand

import (
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// Test opens handles on a new space with an engine of its own each, has all take a node of the same
// window, and logs how long that takes.
func Test(t *testing.T, connect func() lease.Engine) {
	first, err := lease.Create(t.Context(), connect(), lease.Config{New: true})
	if err != nil {
		t.Fatal(err)
	}
	spaces := []*lease.Space{first}
	for len(spaces) < 1000 {
		space, err := lease.Open(t.Context(), connect(), lease.Config{})
		if err != nil {
			t.Fatal(err)
		}
		spaces = append(spaces, space)
	}
	began := time.Now()
	window := first.Limits().WindowOf(began) + 1
	var nodes sync.Map
	var wg sync.WaitGroup
	for _, space := range spaces {
		wg.Go(func() {
			defer space.Close()
			leases, err := space.Take(t.Context(), window, window, 1)
			if err != nil {
				t.Error(err)
				return
			}
			if _, twice := nodes.LoadOrStore(leases[0].FirstNode, true); twice {
				t.Errorf("%+v twice", leases[0])
			}
		})
	}
	wg.Wait()
	t.Logf("%v for %d leases", time.Since(began), len(spaces))
}
