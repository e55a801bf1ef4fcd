package redisstore

import (
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// The benchmarks run against a server that syncs each change to disk.

func benchStore(b *testing.B) (*Store, *wires) {
	server := startServer(b)
	w := new(wires)
	s := on(b, w, server.Addr(), Config{})
	acquire(b, s, oneMinute) // connects, and teaches Redis the script
	w.trips.Store(0)
	b.ResetTimer()
	return s, w
}

func reportTrips(b *testing.B, w *wires) {
	b.ReportMetric(float64(w.trips.Load())/float64(b.N), "trips/op")
}

// BenchmarkAcquire takes leases that were released, of 131,072 ranges at most.
func BenchmarkAcquire(b *testing.B) {
	s, w := benchStore(b)
	defer reportTrips(b, w)
	for b.Loop() {
		held := acquire(b, s, lease.Request{Nodes: 1, TTL: time.Second})
		b.StopTimer()
		trips := w.trips.Load()
		mustDo(b, s.Release(b.Context(), held, time.Time{}))
		w.trips.Store(trips)
		b.StartTimer()
	}
}

func BenchmarkRenew(b *testing.B) {
	s, w := benchStore(b)
	defer reportTrips(b, w)
	held := acquire(b, s, oneMinute)
	w.trips.Store(0)
	for b.Loop() {
		var err error
		if held, err = s.Renew(b.Context(), held, time.Minute); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenewParallel has many holders, whose commits Redis gathers in one sync.
func BenchmarkRenewParallel(b *testing.B) {
	s, w := benchStore(b)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		held, err := s.Acquire(b.Context(), oneMinute)
		for pb.Next() && err == nil {
			held, err = s.Renew(b.Context(), held, time.Minute)
		}
		if err != nil {
			b.Error(err)
		}
	})
	reportTrips(b, w)
}
