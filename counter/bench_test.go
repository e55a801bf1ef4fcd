package counter_test

import (
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/store/storetest"
)

func BenchmarkNext(b *testing.B) {
	c := open(b, counter.On(newSpace(b, storetest.NewMemory().Connect())), "orders", counter.WithRunLength(1<<50, 1<<50))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNextParallel(b *testing.B) {
	benchmarkParallel(b, counter.WithRunLength(1<<50, 1<<50))
}

func BenchmarkNextUnorderedParallel(b *testing.B) {
	benchmarkParallel(b, counter.WithRunLength(1<<50, 1<<50), counter.Unordered())
}

func benchmarkParallel(b *testing.B, options ...counter.Option) {
	c := open(b, counter.On(newSpace(b, storetest.NewMemory().Connect())), "orders", options...)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

var word struct {
	_ [64]byte
	n atomic.Int64
	_ [64]byte
}

func BenchmarkAtomicAdd(b *testing.B) {
	for b.Loop() {
		word.n.Add(1)
	}
}

func BenchmarkAtomicAddParallel(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			word.n.Add(1)
		}
	})
}
