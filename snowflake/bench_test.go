package snowflake

import (
	"testing"
	"time"
)

// An operation is one ID, of Twitter's layout. For scale, BenchmarkTimeNow is a look at the clock. The
// generators run ahead by far, so that the format's limit does not stand in the way, but for
// BenchmarkAtTheLimit.

var (
	sinkID   ID
	sinkTime time.Time
)

func benchGenerator(b *testing.B, options ...Option) *Generator {
	b.Helper()
	g, err := New(Twitter(), Forever(1), options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	return g
}

// farAhead is more than any benchmark needs.
var farAhead = RunAhead(1000 * time.Hour)

func BenchmarkGenerate(b *testing.B) {
	g := benchGenerator(b, farAhead)
	for b.Loop() {
		id, err := g.Generate()
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

func BenchmarkGenerateParallel(b *testing.B) {
	g := benchGenerator(b, farAhead)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Generate(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkFill(b *testing.B) {
	g := benchGenerator(b, farAhead)
	ids := make([]ID, 1024)
	b.SetBytes(8)
	b.ResetTimer()
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
