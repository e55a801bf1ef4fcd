package ulid

import "testing"

// An operation is one ID, in bulk too.

var sinkID ID

func benchmarkGenerate(b *testing.B, g *Generator) {
	for b.Loop() {
		id, err := g.Generate()
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

func BenchmarkGenerate(b *testing.B) { benchmarkGenerate(b, mustNew()) }

func BenchmarkGenerateStrict(b *testing.B) { benchmarkGenerate(b, mustNew(Strict())) }

func BenchmarkGenerateParallel(b *testing.B) {
	g := mustNew()
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
	g := mustNew()
	ids := make([]ID, 1024)
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
