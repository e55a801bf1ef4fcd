package snowflake

import (
	"testing"
	"time"
)

// An operation is one ID, of Twitter's layout. The generators run ahead by far, so that the format's limit does not stand
// in the way.
func benchGenerator(b *testing.B) *Generator {
	g, err := New(Twitter(), Forever(1), RunAhead(1000*time.Hour))
	if err != nil {
		b.Fatal(err)
	}
	return g
}

func BenchmarkGenerate(b *testing.B) {
	g := benchGenerator(b)
	for b.Loop() {
		if _, err := g.Generate(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	g := benchGenerator(b)
	ids := make([]ID, 1024)
	for left := b.N; left > 0; left -= len(ids) {
		if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
			b.Fatal(err)
		}
	}
}
