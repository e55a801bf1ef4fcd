package lease

import (
	"testing"
	"time"
)

// gap returns the longest time without an ID in the next while.
func (q *queue) gap(d time.Duration) (longest time.Duration) {
	const step = 100 * time.Millisecond
	last := time.Now()
	for end := last.Add(d); time.Now().Before(end); time.Sleep(step) {
		if now := time.Now(); q.has(now) {
			longest = max(longest, now.Sub(last)-step)
			last = now
		}
	}
	return max(longest, time.Since(last)-step)
}

// TestReserve: after a loss of data a process that has lived a window and a half goes on without a gap, and others have IDs as soon
// as the reserve opens.
func TestReserve(t *testing.T) {
	const wait = 68 * time.Second // a tick of 8 s, and MaxSkew
	for _, tt := range []struct {
		name string
		age  time.Duration // when data is lost; negative for a process that starts after that
		most time.Duration // without an ID
		also time.Duration // when it is lost once more
	}{
		{name: "new", age: -time.Second, most: wait},
		{name: "young", age: 20 * time.Second, most: wait},
		{name: "a window and a half", age: 90 * time.Second},
		{name: "old", age: 5 * time.Minute},
		{name: "twice", age: 5 * time.Minute, also: 30 * time.Second},
		{name: "young and twice", age: 20 * time.Second, also: 30 * time.Second, most: wait + 30*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seconds := range 60 {
				bubble(t, func(t *testing.T) {
					time.Sleep(time.Duration(seconds) * time.Second)
					data := newMemory()
					space := create(t, conn{memory: data}, Limits{}, nil)
					lose := func(lineage string) {
						s := data.snapshot()
						s.lineage = lineage
						data.restore(s)
					}
					if tt.age < 0 {
						lose("second")
						space.Take(t.Context(), 1, 1, 1) // notes it
						time.Sleep(-tt.age)
					}
					var q queue
					began := time.Now()
					keeper, err := q.keep(t, space)
					for err != nil && time.Since(began) < 2*time.Minute {
						time.Sleep(100 * time.Millisecond)
						keeper, err = q.keep(t, space)
					}
					if err != nil {
						t.Fatal(err)
					}
					defer keeper.Close()
					if waited := time.Since(began); waited > wait+time.Second {
						t.Errorf("waited %v for the first ID", waited)
					}
					if tt.age > 0 {
						time.Sleep(tt.age)
						lose("second")
					}
					gap := time.Duration(0)
					if tt.also > 0 {
						gap = q.gap(tt.also)
						lose("third")
					}
					gap = max(gap, q.gap(10*time.Minute))
					if gap > tt.most+2*time.Second && tt.most > 0 || tt.most == 0 && gap > 0 {
						t.Errorf("%d s into the window: no ID for %v, want at most %v", seconds, gap, tt.most)
					}
				})
			}
		})
	}
}
