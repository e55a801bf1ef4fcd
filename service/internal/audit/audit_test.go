package audit

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// TestWho: the lines tell of each second of a node whose it was, in whichever order they are.
func TestWho(t *testing.T) {
	var lines bytes.Buffer
	log := New(&lines)
	clock := leasetest.NewClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	leases := leasetest.NewMemory(store.DefaultLimits(), clock.Now)
	hold := func(who string, keep time.Duration, giveBack bool) (from, to int64) {
		r, err := log.Leases(leases, who, "orders").Acquire(t.Context(), lease.Request{Nodes: 1, Below: 1, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		from = r.Start
		clock.Advance(keep)
		if r, err = log.Leases(leases, who, "orders").Renew(t.Context(), r, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(clock.Now())}); err != nil {
			t.Fatal(err)
		}
		to = r.HighWater
		if giveBack {
			to = clock.Now().Unix()
			if err := log.Leases(leases, who, "orders").Release(context.Background(), r, clock.Now()); err != nil {
				t.Fatal(err)
			}
		}
		clock.Set(time.Unix(r.HighWater+2, 0))
		return from, to
	}
	aFrom, aTo := hold("a", 30*time.Second, true)
	bFrom, bTo := hold("b", 30*time.Second, false)
	log.Leases(leases, "c", "other").Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Minute})
	reversed := strings.Split(strings.TrimSpace(lines.String()), "\n")
	slices.Reverse(reversed)
	for _, text := range []string{lines.String(), strings.Join(reversed, "\n")} {
		for _, tt := range []struct {
			node   uint32
			second int64
			want   string
		}{{0, aFrom - 1, ""}, {0, aFrom, "a"}, {0, aTo, "a"}, {0, aTo + 1, ""}, {0, bFrom, "b"}, {0, bTo, "b"}, {1, aFrom, ""}} {
			maker, found, err := Who(strings.NewReader(text), "orders", tt.node, tt.second)
			if err != nil || found != (tt.want != "") || maker.Principal != tt.want {
				t.Errorf("node %d at %d: %+v, %v, error %v, want %q", tt.node, tt.second, maker, found, err, tt.want)
			}
		}
	}
	if _, _, err := Who(strings.NewReader(lines.String()+"cut of"), "orders", 0, aFrom); err == nil {
		t.Error("a damaged line was passed over")
	}
	if _, _, err := Who(strings.NewReader(`{"msg":"lease acquired","start":"now"}`+"\n"+lines.String()), "orders", 0, aFrom); err != nil {
		t.Errorf("a line of something else: %v", err)
	}
}
