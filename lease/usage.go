package lease

import (
	"context"
	"sync"
	"time"

	"github.com/randflake/randflake/metrics"
	"github.com/randflake/randflake/store"
)

// The states of a range of nodes.
const (
	Leased   = "leased"   // the lease runs, or will
	Free     = "free"     // the lease has ended
	Released = "released" // the holder gave the lease back
	Poisoned = "poisoned" // a wrong clock must have granted the lease, as it ends so far ahead
)

// State returns the state of r at the Unix second now. By a clock within MaxSkew, no lease ends later than MaxTTL +
// MaxSkew from now.
func (r Record) State(now int64, limits store.Limits) string {
	switch {
	case r.HighWater > now+limits.TTL()+limits.Skew():
		return Poisoned
	case r.Owner == Token{}:
		return Released
	case r.HighWater < now:
		return Free
	}
	return Leased
}

// A Usage says how the nodes of a space are used, and how the space fares.
type Usage struct {
	Err error // why the rest is not known, or nil

	Nodes, Ranges Counts // Ranges are those that the nodes are cut into, granted before or not
	Limits        Limits
	Losses        uint64 // times that data was lost, or may have been

	// ClockOffset is by how much the server's clock is ahead of this process's, to within the time that a call takes.
	// HasClock says whether the server has a clock.
	ClockOffset time.Duration
	HasClock    bool
}

// Counts are numbers of nodes, or of ranges.
type Counts struct{ Held, Free, Poisoned int }

// All returns their sum.
func (c Counts) All() int { return c.Held + c.Free + c.Poisoned }

// UsageOf reads all records of a space. Nodes from below on are left out, unless below is 0.
func UsageOf(ctx context.Context, space *store.Space, below uint32) (u Usage) {
	l := &leases{space: space}
	v, err := space.Look(ctx, nil, store.Page{})
	if err != nil {
		return Usage{Err: err}
	}
	seen, err := l.scan(ctx, v, 0, allNodes)
	if err != nil {
		return Usage{Err: err}
	}
	if below == 0 {
		below = allNodes
	}
	for _, r := range seen {
		if r.FirstNode >= below {
			break
		}
		nodes, ranges := &u.Nodes.Free, &u.Ranges.Free
		switch r.State(v.Now, v.Meta.Limits()) {
		case Poisoned:
			nodes, ranges = &u.Nodes.Poisoned, &u.Ranges.Poisoned
		case Leased:
			nodes, ranges = &u.Nodes.Held, &u.Ranges.Held
		}
		*nodes += int(min(r.LastNode, below-1)-r.FirstNode) + 1
		*ranges++
	}
	u.Limits, u.Losses = limitsOf(v.Meta), v.Meta.Losses
	u.ClockOffset, u.HasClock = v.ClockOffset()
	return u
}

// Metrics returns u as metrics. Without nodes, as for ULIDs, there are none about nodes.
func (u Usage) Metrics() []metrics.Metric {
	all := []metrics.Metric{metrics.Flag("randflake_store_up", "1 if the store answered the last time that it was asked how its nodes are used, otherwise 0.", u.Err == nil)}
	if u.Err != nil {
		return all
	}
	floor := int64(0)
	if !u.Limits.Floor.IsZero() {
		floor = u.Limits.Floor.Unix()
	}
	all = append(all,
		metrics.Gauge("randflake_store_floor_timestamp_seconds", "Unix time before which the store starts no lease, because it was new then or had lost data; 0 if there is no such time.", floor),
		metrics.Counter("randflake_store_losses_total", "How often the store's data was lost, or may have been, as the store itself remembers.", u.Losses),
		metrics.Gauge("randflake_store_max_ttl_seconds", "The longest time for which the store grants a lease.", u.Limits.MaxTTL.Seconds()),
		metrics.Gauge("randflake_store_max_skew_seconds", "The largest difference between two clocks that both count as right.", u.Limits.MaxSkew.Seconds()))
	if u.HasClock {
		all = append(all, metrics.Gauge("randflake_store_clock_offset_seconds", "The clock of the store's server minus that of this process.", u.ClockOffset.Seconds()))
	}
	if u.Nodes.All() == 0 {
		return all
	}
	all = append(all, metrics.Gauge("randflake_store_nodes_free_ratio", "The part of all nodes of the format or layout that is free to be leased, 0 to 1.", float64(u.Nodes.Free)/float64(u.Nodes.All())))
	states := func(name, help string, c Counts) {
		for state, n := range map[string]int{"held": c.Held, "free": c.Free, "poisoned": c.Poisoned} {
			m := metrics.Gauge(name, help, n)
			m.Labels = map[string]string{"state": state}
			all = append(all, m)
		}
	}
	states("randflake_store_nodes", "Nodes of the format or layout: held by a process, free, or poisoned by a wrong clock that used them too far ahead.", u.Nodes)
	states("randflake_store_ranges", "Ranges into which the store's nodes are cut: held, which is one lease, free, or poisoned by a wrong clock that used them too far ahead.", u.Ranges)
	return all
}

// UsageReporter returns a Reporter of [UsageOf]. It asks the store at most every 50 seconds, so that a scrape each minute
// shows the present, and waits for it for up to five seconds. One process of a fleet is enough, since all see the same.
func UsageReporter(space *store.Space, below uint32) metrics.Reporter {
	var mu sync.Mutex
	var at time.Time
	var last Usage
	return metrics.Func(func() []metrics.Metric {
		mu.Lock()
		defer mu.Unlock()
		if at.IsZero() || time.Since(at) >= 50*time.Second {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			at, last = time.Now(), UsageOf(ctx, space, below)
		}
		return last.Metrics()
	})
}
