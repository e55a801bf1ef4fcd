package chaos

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
)

// A bug is planted in workers, to show that the harness finds such bugs.
type bug string

const (
	forget  bug = "forget"  // an engine forgets what a swap expects
	outlive bug = "outlive" // a keeper uses its leases after the end
	repeat  bug = "repeat"  // a counter repeats numbers after a restart
)

// forgetful engines swap whatever is stored. They take their time, so that others swap meanwhile.
type forgetful struct{ lease.Engine }

func (f forgetful) Swap(ctx context.Context, expect, put []lease.Entry) (lease.Answer, error) {
	time.Sleep(50 * time.Millisecond)
	var names []string
	for _, e := range expect {
		names = append(names, e.Name)
	}
	found, err := f.Read(ctx, names...)
	if err != nil {
		return found, err
	}
	return f.Engine.Swap(ctx, found.Entries, put)
}

// repeating handles keep their last numbers in a file, and begin with those.
type repeating struct {
	handle
	file  string
	begun bool
}

func (r *repeating) Fill(ctx context.Context, dst []int64) (n int, err error) {
	if !r.begun {
		var last []int64
		if text, err := os.ReadFile(r.file); err == nil && json.Unmarshal(text, &last) == nil {
			n = copy(dst, last)
		}
		r.begun = true
		return n, nil
	}
	if n, err = r.handle.Fill(ctx, dst); n > 0 {
		text, _ := json.Marshal(dst[:n]) // numbers
		os.WriteFile(r.file, text, 0o600)
	}
	return n, err
}

// outliving leases have the bug outlive: in each window the nodes of the lease before are used, and not those of
// the window. To the keeper all is as it should be.
type outliving struct {
	lease.Source
	before randflake.Lease
}

func (o *outliving) Take(ctx context.Context, from, to int64, nodes uint32) ([]randflake.Lease, error) {
	leases, err := o.Source.Take(ctx, from, to, nodes)
	for i, granted := range leases {
		if !o.before.End.IsZero() {
			leases[i].FirstNode, leases[i].LastNode = o.before.FirstNode, o.before.LastNode
		}
		o.before = granted
	}
	return leases, err
}
