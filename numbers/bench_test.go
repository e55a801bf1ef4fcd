package numbers_test

import (
	"testing"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/numbers"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var benchmarked = map[string][]numbers.Option{"plain": nil, "encrypted": {numbers.Encrypted(exampleSecret())}}

// BenchmarkNext is what a number costs, beside the counter's own part of that.
func BenchmarkNext(b *testing.B) {
	b.Run("counter", func(b *testing.B) {
		c, err := newCounters(b, storetest.NewMemory().Connect(), store.ForNewSecret()).Open(b.Context(), "a", counter.OrCreate(), counter.WithRunLength(1e6, 1e9))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := c.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, options := range benchmarked {
		b.Run(name, func(b *testing.B) {
			s := open(b, newCounters(b, storetest.NewMemory().Connect(), store.ForNewSecret()), "ORD-{date:20060102}-{n:10}",
				append(options, numbers.WithCounter(counter.WithRunLength(1e6, 1e9)))...)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for name, options := range benchmarked {
		b.Run(name, func(b *testing.B) {
			f, err := numbers.NewFormat("orders", "ORD-{date:20060102}-{n:10}", options...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Parse("ORD-20261122-0000000042"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
