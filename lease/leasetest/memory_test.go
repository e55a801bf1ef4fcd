package leasetest_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

var noon = time.Unix(1767268800, 0)

var oneMinute = lease.Request{Nodes: 1, TTL: time.Minute}

// newMemory returns a store with one lease, which the caller holds.
func newMemory(t *testing.T) (*leasetest.Memory, *leasetest.Clock, lease.Record) {
	clock := leasetest.NewClock(noon)
	m := leasetest.NewMemory(lease.DefaultRules(), clock.Now)
	held, err := m.Acquire(t.Context(), oneMinute)
	if err != nil {
		t.Fatal(err)
	}
	return m, clock, held
}

// calls makes one call of each kind.
var calls = map[leasetest.Op]func(context.Context, *leasetest.Memory, lease.Record) error{
	leasetest.Acquire: func(ctx context.Context, m *leasetest.Memory, _ lease.Record) error {
		_, err := m.Acquire(ctx, oneMinute)
		return err
	},
	leasetest.Renew: func(ctx context.Context, m *leasetest.Memory, held lease.Record) error {
		_, err := m.Renew(ctx, held, 2*time.Minute)
		return err
	},
	leasetest.Lookup: func(ctx context.Context, m *leasetest.Memory, held lease.Record) error {
		_, err := m.Lookup(ctx, held)
		return err
	},
	leasetest.Release: func(ctx context.Context, m *leasetest.Memory, held lease.Record) error {
		return m.Release(ctx, held, noon)
	},
	leasetest.List: func(ctx context.Context, m *leasetest.Memory, _ lease.Record) error {
		_, err := m.List(ctx)
		return err
	},
}

func TestFaults(t *testing.T) {
	errBroken := errors.New("broken")
	for op, call := range calls {
		changes := op == leasetest.Acquire || op == leasetest.Renew || op == leasetest.Release
		for _, tt := range []struct {
			name        string
			fault       leasetest.Fault
			want        error
			takesEffect bool
		}{
			{"none", leasetest.Fault{}, nil, true},
			{"before", leasetest.Fault{Err: errBroken}, errBroken, false},
			{"after", leasetest.Fault{Err: errBroken, After: true}, errBroken, true},
			{"after, no error given", leasetest.Fault{After: true}, leasetest.ErrInjected, true},
			{"hang", leasetest.Fault{Hang: true}, context.DeadlineExceeded, false},
			{"hang, then broken", leasetest.Fault{Hang: true, Err: errBroken}, errBroken, false},
			{"hang after", leasetest.Fault{Hang: true, After: true}, context.DeadlineExceeded, true},
		} {
			m, _, held := newMemory(t)
			before, _ := m.List(t.Context())
			var asked atomic.Int32
			m.Inject(func(got leasetest.Op) leasetest.Fault {
				if asked.Add(1); got != op {
					t.Errorf("%s asks about %s", op, got)
				}
				return tt.fault
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if tt.fault.Hang {
				ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
			}
			if err := call(ctx, m, held); !errors.Is(err, tt.want) {
				t.Errorf("%s, %s: error %v, want %v", op, tt.name, err, tt.want)
			}
			cancel()
			if asked.Load() != 1 {
				t.Errorf("%s, %s: the fault was asked for %d times, want once", op, tt.name, asked.Load())
			}
			m.Inject(nil)
			after, err := m.List(t.Context())
			if err != nil {
				t.Errorf("with the fault gone: %v", err)
			}
			if changed := !slices.Equal(before, after); changed != (changes && tt.takesEffect) {
				t.Errorf("%s, %s: changed the store: %v", op, tt.name, changed)
			}
		}
	}
}

// TestFaultThatCallsTheStore: the function may look at the store that asks it.
func TestFaultThatCallsTheStore(t *testing.T) {
	m, _, held := newMemory(t)
	m.Inject(func(op leasetest.Op) leasetest.Fault {
		if op == leasetest.Renew {
			m.Release(t.Context(), held, noon)
		}
		return leasetest.Fault{}
	})
	if _, err := m.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("error %v, want ErrLost", err)
	}
}

func TestSetNotBefore(t *testing.T) {
	m, clock, held := newMemory(t)
	floor := noon.Unix() + 500
	m.SetNotBefore(floor)
	if rec, err := m.Acquire(t.Context(), oneMinute); err != nil || rec.Start != floor {
		t.Errorf("granted %+v, %v; want a start at %d", rec, err, floor)
	}
	if _, err := m.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of an older lease: error %v, want ErrLost", err)
	}
	clock.Advance(501 * time.Second)
	if rec, err := m.Acquire(t.Context(), oneMinute); err != nil || rec.Start != floor+1 {
		t.Errorf("granted %+v, %v; want a start at %d", rec, err, floor+1)
	}
}

func TestDistrust(t *testing.T) {
	m, clock, held := newMemory(t)
	if err := m.Distrust(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Renew(t.Context(), held, time.Minute); !errors.Is(err, lease.ErrLost) {
		t.Errorf("Renew of an older lease: error %v, want ErrLost", err)
	}
	clock.Advance(10 * time.Minute)
	floor := lease.DefaultRules().NotBefore(noon.Unix())
	if rec, err := m.Acquire(t.Context(), oneMinute); err != nil || rec.Start != floor {
		t.Errorf("granted %+v, %v; want a start at %d", rec, err, floor)
	}
	clock.Set(time.Unix(0, 0))
	if err := m.Distrust(t.Context()); err == nil {
		t.Error("in 1970: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Distrust(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestNewMemory(t *testing.T) {
	m := leasetest.NewMemory(lease.DefaultRules(), nil)
	rec, err := m.Acquire(t.Context(), oneMinute)
	if now := time.Now().Unix(); err != nil || rec.Start > now || rec.Start < now-60 {
		t.Errorf("without a clock: granted %+v, %v; want a start at %d", rec, err, now)
	}
	defer func() {
		if recover() == nil {
			t.Error("unsound rules: no panic")
		}
	}()
	leasetest.NewMemory(lease.Rules{}, nil)
}

func TestHistory(t *testing.T) {
	span := func(owner byte, first, last uint32, start, end int64) lease.Record {
		return lease.Record{FirstNode: first, LastNode: last, Owner: lease.Owner{owner}, Start: start, HighWater: end}
	}
	for _, tt := range []struct {
		name     string
		records  []lease.Record
		disjoint bool
	}{
		{"nothing", nil, true},
		{"one after the other", []lease.Record{span(1, 0, 9, 100, 199), span(2, 0, 9, 200, 299)}, true},
		{"side by side", []lease.Record{span(1, 0, 9, 100, 199), span(2, 10, 19, 100, 199)}, true},
		{"a shared second", []lease.Record{span(1, 0, 9, 100, 199), span(2, 0, 9, 199, 299)}, false},
		{"a shared node", []lease.Record{span(1, 0, 9, 100, 199), span(2, 9, 19, 150, 160)}, false},
		{"within", []lease.Record{span(1, 0, 9, 100, 199), span(2, 4, 4, 150, 150)}, false},
		{"behind a short one", []lease.Record{span(1, 0, 9, 100, 300), span(2, 20, 29, 110, 120), span(3, 0, 9, 300, 310)}, false},
		{"renewed into another", []lease.Record{span(1, 0, 9, 100, 199), span(2, 0, 9, 200, 299), span(1, 0, 9, 100, 200)}, false},
		{"an older state seen again", []lease.Record{span(1, 0, 9, 100, 199), span(1, 0, 9, 100, 150), span(2, 0, 9, 151, 299)}, false},
		{"empty", []lease.Record{span(1, 0, 9, 100, 199), span(2, 0, 9, 150, 149)}, true},
	} {
		var h leasetest.History
		for _, rec := range tt.records {
			h.Granted(rec)
		}
		if err := h.Check(); (err == nil) != tt.disjoint {
			t.Errorf("%s: %v, want disjoint: %v", tt.name, err, tt.disjoint)
		}
	}
	var h leasetest.History
	h.Granted(span(1, 0, 9, 100, 199))
	h.Released(span(1, 0, 9, 100, 199), time.Unix(150, 0))
	h.Granted(span(2, 0, 9, 151, 250))
	if err := h.Check(); err != nil || h.Len() != 2 {
		t.Errorf("released early, then granted: %v, %d leases", err, h.Len())
	}
	h.Released(span(2, 0, 9, 151, 250), time.Unix(999, 0))
	h.Granted(span(3, 0, 9, 250, 300))
	if err := h.Check(); err == nil {
		t.Error("a release after the end made the lease longer or shorter")
	}
}

func TestClock(t *testing.T) {
	c := leasetest.NewClock(noon)
	c.Advance(-time.Minute)
	if got := c.Now(); !got.Equal(noon.Add(-time.Minute)) {
		t.Errorf("a minute back: %v", got)
	}
	if c.Set(noon); !c.Now().Equal(noon) {
		t.Errorf("set to %v: %v", noon, c.Now())
	}
}
