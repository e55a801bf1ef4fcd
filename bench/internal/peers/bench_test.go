package peers

import (
	"sync"
	"testing"
)

// Run with -cpu 1,2,4 for other core counts, and with -count 6 for benchstat. An operation is one ID.

func BenchmarkPeers(b *testing.B) {
	for _, p := range Available() {
		b.Run(p.Name, func(b *testing.B) {
			maker, err := p.Open()
			if err != nil {
				b.Fatal(err)
			}
			if maker.Close != nil {
				defer maker.Close()
			}
			var mu sync.Mutex // Maker.Source is for one goroutine at a time
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				mu.Lock()
				source := maker.Source()
				mu.Unlock()
				for pb.Next() {
					if _, _, err := source.Next(); err != nil {
						b.Error(err)
						return
					}
					for range source.IDs() - 1 {
						pb.Next()
					}
				}
			})
		})
	}
}
