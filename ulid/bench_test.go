package ulid

import (
	"testing"

	"github.com/oklog/ulid/v2"
)

// An operation is one ID, in bulk too. BenchmarkOklogMake is what to compare with.

var (
	sinkID    ID
	sinkOklog ulid.ULID
)

func benchmarkGenerate(b *testing.B, g *Generator) {
	for b.Loop() {
		id, err := g.Generate()
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

func BenchmarkGenerate(b *testing.B) { benchmarkGenerate(b, New()) }

func BenchmarkGenerateStrict(b *testing.B) { benchmarkGenerate(b, New(Strict())) }

func BenchmarkOklogMake(b *testing.B) {
	for b.Loop() {
		sinkOklog = ulid.Make()
	}
}

func BenchmarkGenerateParallel(b *testing.B) {
	g := New()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Generate(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkOklogMakeParallel(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ulid.Make()
		}
	})
}

func BenchmarkFill(b *testing.B) {
	g := New()
	ids := make([]ID, 1024)
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
