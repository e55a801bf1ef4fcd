package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

// TestOverlap: two clients saw the same store and add ranges. The second fails where they share a
// node, and otherwise as long as both sizes are the same power of two.
func TestOverlap(t *testing.T) {
	of := func(first, nodes int) lease.Record {
		return lease.Record{
			FirstNode: uint32(first), LastNode: uint32(first + nodes - 1),
			Owner: lease.Owner{1}, Version: 1, Start: noon.Unix(), HighWater: noon.Unix(),
		}
	}
	const all = randflake.MaxNode + 1
	for _, tt := range []struct {
		a, b    lease.Record
		refused bool
	}{
		{of(0, 4), of(2, 1), true},
		{of(0, 4), of(0, 1), true},
		{of(0, 4), of(3, 1), true},
		{of(0, 4), of(0, 4), true},
		{of(0, 4), of(1, 4), true},
		{of(0, 3), of(2, 3), true},
		{of(5, 3), of(7, 30), true},
		{of(0, all), of(all-1, 1), true},
		{of(0, all), of(0, 2), true},
		{of(0, 70_000), of(69_999, 1000), true},
		{of(0, 1), of(1, 1), false},
		{of(0, 4), of(4, 4), false},
		{of(64, 64), of(128, 64), false},
		{of(0, all/2), of(all/2, all/2), false},
		{of(8, 8), of(100, 1), false},
	} {
		for _, pair := range [][2]lease.Record{{tt.a, tt.b}, {tt.b, tt.a}} {
			s, _ := create(t, newURL())
			v, err := s.settle(t.Context(), nobody, s.readEverything)
			if err != nil {
				t.Fatal(err)
			}
			for i, next := range pair {
				after, added, err := s.swap(t.Context(), v, next, s.unchanged(v, next), s.everything())
				if err != nil {
					t.Fatal(err)
				}
				if want := i == 0 || !tt.refused; added != want {
					t.Errorf("nodes %d to %d after %d to %d: added: %v, want %v", next.FirstNode, next.LastNode, pair[0].FirstNode, pair[0].LastNode, added, want)
				}
				if !added && after.find(pair[0]) != pair[0] {
					t.Errorf("the answer does not have what was in the way: %+v", after.records)
				}
			}
		}
	}
}

// TestOverlapConditions compares the condition for a new range, as etcd evaluates it, with what it
// must notice, for random pairs of ranges.
func TestOverlapConditions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	k := keys{"/x/"}
	random := func() lease.Record {
		nodes := 1 + rng.IntN(1<<rng.IntN(18))
		first := rng.IntN(randflake.MaxNode + 2 - nodes)
		if rng.IntN(2) == 0 {
			first = min(first, rng.IntN(3*nodes))
		}
		return lease.Record{FirstNode: uint32(first), LastNode: uint32(first + nodes - 1)}
	}
	overlaps, noticed := 0, 0
	for range 50_000 {
		a, b := random(), random()
		hit := false
		for _, c := range k.noneNewer(a, 7) {
			if key := k.record(b); key >= string(c.Key) && key < string(c.RangeEnd) {
				hit = true
			}
			if (*pb.Compare)(&c).GetCreateRevision() != 8 {
				t.Fatalf("condition %+v: want none created after revision 7", c)
			}
		}
		overlap := a.FirstNode <= b.LastNode && b.FirstNode <= a.LastNode
		if overlap && !hit {
			t.Fatalf("%d to %d does not notice %d to %d", a.FirstNode, a.LastNode, b.FirstNode, b.LastNode)
		}
		if near := b.LastNode+uint32(2*b.Nodes()) < a.FirstNode || b.FirstNode > a.LastNode; near && hit {
			t.Fatalf("%d to %d takes %d to %d for near", a.FirstNode, a.LastNode, b.FirstNode, b.LastNode)
		}
		if overlap {
			overlaps++
		} else if hit {
			noticed++
		}
	}
	if overlaps < 2_000 || noticed == 0 {
		t.Errorf("%d pairs overlap, %d others are noticed: the test does not test much", overlaps, noticed)
	}
}

// requests counts the requests of each call whose context has a *atomic.Int64 under it.
type requests struct{}

func (requests) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	if n, ok := ctx.Value(requests{}).(*atomic.Int64); ok {
		n.Add(1)
	}
	return ctx
}
func (requests) HandleRPC(context.Context, stats.RPCStats)                         {}
func (requests) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (requests) HandleConn(context.Context, stats.ConnStats)                       {}

// counting returns a handle whose requests are counted for calls with the context of count.
func counting(t testing.TB, prefix string, clock func() time.Time) *Store {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{shared.Members[0].Client},
		Logger:      zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithStatsHandler(requests{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), client, Config{Prefix: prefix}, WithClock(clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); client.Close() })
	return s
}

func count(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, requests{}, n), n
}

// herd makes clients acquire at once from an empty store, each through one of several handles, and
// returns how many requests each needed.
func herd(t testing.TB, url string, clients int, nodes func(i int) int) []int64 {
	s, clock := create(t, url)
	return stampede(t, s, clock, clients, nodes)
}

func stampede(t testing.TB, s *Store, clock *leasetest.Clock, clients int, nodes func(i int) int) (needed []int64) {
	var handles []*Store
	for range 8 {
		handles = append(handles, counting(t, s.keys.prefix, clock.Now))
	}
	var h leasetest.History
	start := make(chan struct{})
	needed = make([]int64, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			ctx, n := count(t.Context())
			<-start
			rec, err := handles[i%len(handles)].Acquire(ctx, lease.Request{Nodes: nodes(i), TTL: time.Minute})
			if err != nil {
				t.Errorf("Acquire: %v", err)
			}
			h.Granted(rec)
			needed[i] = n.Load()
		})
	}
	close(start)
	wg.Wait()
	if err := h.Check(); err != nil || h.Len() != clients {
		t.Errorf("%d leases, want %d; %v", h.Len(), clients, err)
	}
	return needed
}

// TestManyAcquireBelow: all get one of exactly as many nodes as there are below the bound.
func TestManyAcquireBelow(t *testing.T) {
	const clients = 40
	s, _ := create(t, newURL())
	var wg sync.WaitGroup
	nodes := make([]uint32, clients)
	ask := lease.Request{Nodes: 1, Below: clients, TTL: time.Minute}
	for i := range clients {
		wg.Go(func() {
			rec, err := s.Acquire(t.Context(), ask)
			if err != nil {
				t.Errorf("Acquire: %v", err)
			}
			nodes[i] = rec.FirstNode
		})
	}
	wg.Wait()
	slices.Sort(nodes)
	for i, node := range nodes {
		if int(node) != i {
			t.Fatalf("granted nodes %d, want all below %d", nodes, clients)
		}
	}
	if rec, err := s.Acquire(t.Context(), ask); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("one more got %+v, %v; want ErrNoRange", rec, err)
	}
}

// maxRequests bounds the requests of one Acquire among many: a few rounds, in which the herd
// spreads over four times as many candidates each, not one for each competitor.
const maxRequests = 25

func TestManyAcquire(t *testing.T) {
	for name, nodes := range map[string]func(int) int{
		"one node":     func(int) int { return 1 },
		"equal ranges": func(int) int { return 64 },
		"mixed sizes":  func(i int) int { return 1 + i%5 },
	} {
		for i, n := range herd(t, newURL(), 200, nodes) {
			if n > maxRequests {
				t.Errorf("%s: client %d needed %d requests, want at most %d", name, i, n, maxRequests)
			}
		}
	}
}

// TestManyTakeOver: there are just as many ranges as clients, and all are free.
func TestManyTakeOver(t *testing.T) {
	const clients = 100
	one := func(int) int { return 1 }
	s, clock := create(t, newURL())
	stampede(t, s, clock, clients, one)
	clock.Advance(2 * time.Minute)
	stampede(t, s, clock, clients, one)
	if records, err := s.List(t.Context()); err != nil || len(records) > 2*clients {
		t.Errorf("%d ranges, %v", len(records), err)
	}
}

// BenchmarkHerd starts 1,000 clients at once on an empty store.
func BenchmarkHerd(b *testing.B) {
	for name, nodes := range map[string]func(int) int{
		"one":   func(int) int { return 1 },
		"mixed": func(i int) int { return 1 + i%8 },
	} {
		b.Run(name, func(b *testing.B) {
			var most, sum int64
			for b.Loop() {
				for _, n := range herd(b, newURL(), 1000, nodes) {
					most = max(most, n)
					sum += n
				}
			}
			b.ReportMetric(float64(sum)/float64(1000*b.N), "requests/acquire")
			b.ReportMetric(float64(most), "max-requests")
		})
	}
}

// TestCost: an acquisition takes two round trips, all else that goes as expected takes one, and each
// change is one entry of etcd's log, which is one durable commit.
func TestCost(t *testing.T) {
	s, clock := create(t, newURL())
	s = counting(t, s.keys.prefix, clock.Now)
	logged := func() uint64 {
		status, err := s.client.Status(t.Context(), s.client.Endpoints()[0])
		if err != nil {
			t.Fatal(err)
		}
		return status.RaftIndex
	}
	var held lease.Record
	for _, tt := range []struct {
		name            string
		requests, wrote int
		call            func(ctx context.Context) error
	}{
		{"Acquire", 2, 1, func(ctx context.Context) (err error) { held, err = s.Acquire(ctx, oneMinute); return err }},
		{"Renew", 1, 1, func(ctx context.Context) (err error) { held, err = s.Renew(ctx, held, time.Minute); return err }},
		{"Lookup", 1, 0, func(ctx context.Context) (err error) { held, err = s.Lookup(ctx, held); return err }},
		{"List", 1, 0, func(ctx context.Context) (err error) { _, err = s.List(ctx); return err }},
		{"Release", 1, 1, func(ctx context.Context) error { return s.Release(ctx, held, noon) }},
	} {
		clock.Advance(time.Second)
		before := logged()
		ctx, n := count(t.Context())
		if err := tt.call(ctx); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if wrote := logged() - before; n.Load() != int64(tt.requests) || wrote != uint64(tt.wrote) {
			t.Errorf("%s: %d requests, %d commits; want %d and %d", tt.name, n.Load(), wrote, tt.requests, tt.wrote)
		}
	}
}

func BenchmarkAcquire(b *testing.B) {
	s, _ := create(b, newURL())
	s = counting(b, s.keys.prefix, time.Now)
	ctx, n := count(b.Context())
	for b.Loop() {
		held, err := s.Acquire(ctx, oneMinute)
		if err != nil {
			b.Fatal(err)
		}
		// Never used: the next one gets the same range.
		if err := s.Release(b.Context(), held, time.Unix(held.Start-1, 0)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n.Load())/float64(b.N), "requests/acquire")
}

func BenchmarkRenew(b *testing.B) {
	s, _ := create(b, newURL())
	s = counting(b, s.keys.prefix, time.Now)
	held := acquire(b, s, oneMinute)
	ctx, n := count(b.Context())
	for b.Loop() {
		var err error
		if held, err = s.Renew(ctx, held, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n.Load())/float64(b.N), "requests/op")
}

// BenchmarkRenewParallel is of many holders, each with a lease of its own.
func BenchmarkRenewParallel(b *testing.B) {
	for _, each := range []int{16, 256} {
		b.Run(fmt.Sprint(each), func(b *testing.B) {
			s, _ := create(b, newURL())
			s = counting(b, s.keys.prefix, time.Now)
			held := make([]lease.Record, each*runtime.GOMAXPROCS(0))
			for i := range held {
				held[i] = acquire(b, s, oneMinute)
			}
			ctx, n := count(b.Context())
			var holder atomic.Int64
			b.SetParallelism(each)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				mine := held[holder.Add(1)-1]
				for pb.Next() {
					var err error
					if mine, err = s.Renew(ctx, mine, time.Minute); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(n.Load())/float64(b.N), "requests/op")
		})
	}
}
