//go:build linux

package pgstore

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// benchStore returns a store that counts its round trips.
func benchStore(b *testing.B) (*Store, *atomic.Int64) {
	server := sharedServer(b)
	where := newURL(b, server)
	create(b, where)
	pool, trips := counted(b, server)
	s, err := New(b.Context(), pool, Config{Schema: strings.Trim(schemaOf(b, where), `"`)})
	if err != nil {
		b.Fatal(err)
	}
	acquire(b, s)
	return s, trips
}

// report adds the round trips since before.
func report(b *testing.B, trips *atomic.Int64, before int64) {
	b.ReportMetric(float64(trips.Load()-before)/float64(b.N), "round-trips/op")
}

func BenchmarkAcquire(b *testing.B) {
	s, trips := benchStore(b)
	before, releases := trips.Load(), int64(0)
	for b.Loop() {
		rec := acquire(b, s)
		b.StopTimer()
		if err := s.Release(b.Context(), rec, time.Time{}); err != nil {
			b.Fatal(err)
		}
		releases++
		b.StartTimer()
	}
	report(b, trips, before+releases)
}

func BenchmarkRenew(b *testing.B) {
	s, trips := benchStore(b)
	held := acquire(b, s)
	before := trips.Load()
	for b.Loop() {
		held = renew(b, s, held)
	}
	report(b, trips, before)
}

// BenchmarkRenewParallel is of many holders, each with a lease of its own.
func BenchmarkRenewParallel(b *testing.B) {
	const each = 16
	s, trips := benchStore(b)
	held := make([]lease.Record, each*runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range held {
		wg.Go(func() { held[i], _ = s.Acquire(b.Context(), oneMinute) })
	}
	wg.Wait()
	var holder atomic.Int64
	b.SetParallelism(each)
	before := trips.Load()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		mine := held[holder.Add(1)-1]
		for pb.Next() {
			mine = renew(b, s, mine)
		}
	})
	report(b, trips, before)
}

func renew(b *testing.B, s *Store, held lease.Record) lease.Record {
	rec, err := s.Renew(b.Context(), held, time.Minute)
	if err != nil {
		b.Error(err)
	}
	return rec
}
