package randflake

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/coarse"
)

// The benchmarks lease all nodes, so that the format's limit does not stand in the way. An operation
// is one ID or one block, in bulk too.

var (
	sinkID     ID
	sinkUint64 uint64
)

func benchGenerator(b *testing.B) *Generator {
	b.Helper()
	start := time.Now().Truncate(time.Second)
	g, err := New(NewSecret(), Lease{LastNode: MaxNode, Start: start, End: start.Add(24 * time.Hour)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.Close() })
	return g
}

func BenchmarkCipher(b *testing.B) {
	forEachBackend(b, func(b *testing.B) {
		c := NewCipher(NewSecret())
		b.Run("encrypt", func(b *testing.B) {
			for b.Loop() {
				sinkUint64 = encrypt(c, sinkUint64+1)
			}
		})
		b.Run("decrypt", func(b *testing.B) {
			for b.Loop() {
				sinkUint64 = decrypt(c, sinkUint64+1)
			}
		})
		values := make([]uint64, 1024)
		b.Run("encryptSlice", func(b *testing.B) {
			inBulk(b, len(values), func(n int) { encryptSlice(c, values[:n], values[:n]) })
		})
		b.Run("decryptSlice", func(b *testing.B) {
			inBulk(b, len(values), func(n int) { decryptSlice(c, values[:n], values[:n]) })
		})
	})
}

// inBulk has f do size values at a time, so that an operation of the benchmark is one value.
func inBulk(b *testing.B, size int, f func(n int)) {
	b.SetBytes(8)
	b.ResetTimer()
	for left := b.N; left > 0; left -= size {
		f(min(left, size))
	}
}

func BenchmarkGenerate(b *testing.B) {
	g := benchGenerator(b)
	for b.Loop() {
		id, err := g.Generate()
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

// BenchmarkWait is Wait where no call has to: it is to cost what Generate does, and a check for
// waiting callers.
func BenchmarkWait(b *testing.B) {
	g := benchGenerator(b)
	ctx := b.Context()
	for b.Loop() {
		id, err := g.Wait(ctx)
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

// BenchmarkFill64 is a loop that takes IDs one by one from an array that Fill fills.
func BenchmarkFill64(b *testing.B) {
	g := benchGenerator(b)
	var ids [64]ID
	for i := 0; b.Loop(); i++ {
		if i%len(ids) == 0 {
			if _, err := g.Fill(ids[:]); err != nil {
				b.Fatal(err)
			}
		}
		sinkID = ids[i%len(ids)]
	}
}

// BenchmarkBackend is what makes IDs, with each backend.
func BenchmarkBackend(b *testing.B) {
	forEachBackend(b, func(b *testing.B) {
		b.Run("generate", BenchmarkGenerate)
		b.Run("fill64", BenchmarkFill64)
		b.Run("fill", BenchmarkFill)
	})
}

// BenchmarkGenerateHot is Generate with a block always in hand: what it costs beside encryption.
func BenchmarkGenerateHot(b *testing.B) {
	g := benchGenerator(b)
	st := g.leases.InForce.Load()
	inBulk(b, batchSize, func(n int) {
		second := coarse.Seconds.Now()
		s := st.Work.shards.pin()
		s.claimedAt, s.idsLeft = second, batchSize
		st.Work.shards.unpin(s)
		for range n {
			id, err := g.Generate()
			if err != nil {
				b.Fatal(err)
			}
			sinkID = id
		}
	})
}

func BenchmarkGenerateParallel(b *testing.B) {
	g := benchGenerator(b)
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
	g := benchGenerator(b)
	ids := make([]ID, 1024)
	inBulk(b, len(ids), func(n int) {
		if _, err := g.Fill(ids[:n]); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkFillParallel(b *testing.B) {
	g := benchGenerator(b)
	b.SetBytes(8)
	b.ResetTimer()
	procs := runtime.GOMAXPROCS(0)
	var fillers sync.WaitGroup
	for range procs {
		fillers.Go(func() {
			ids := make([]ID, 1024)
			for left := b.N / procs; left > 0; left -= len(ids) {
				if _, err := g.Fill(ids[:min(left, len(ids))]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	fillers.Wait()
}

func BenchmarkAppendText(b *testing.B) {
	buf := make([]byte, 0, textLength)
	id := ID(rand.Int64())
	for b.Loop() {
		buf, _ = id.AppendText(buf[:0])
		id++
	}
}

func BenchmarkParse(b *testing.B) {
	text := ID(rand.Int64()).String()
	for b.Loop() {
		id, err := Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
	}
}

// BenchmarkFirstID is the time from New to the first ID.
func BenchmarkFirstID(b *testing.B) {
	secret := NewSecret()
	start := time.Now().Truncate(time.Second)
	lease := Lease{LastNode: MaxNode, Start: start, End: start.Add(24 * time.Hour)}
	for b.Loop() {
		g, err := New(secret, lease)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := g.Generate(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSecondLateness is how late the published second comes when every processor is busy with
// four goroutines that never yield. They watch for it too: some of them are always running.
func BenchmarkSecondLateness(b *testing.B) {
	var stop atomic.Bool
	var seen, worst atomic.Int64
	seen.Store(coarse.Seconds.Read())
	var watchers sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		watchers.Go(func() {
			for !stop.Load() {
				old := seen.Load()
				second := coarse.Seconds.Published()
				if second <= old || !seen.CompareAndSwap(old, second) {
					continue
				}
				late := int64(time.Since(time.Unix(second, 0)))
				for w := worst.Load(); late > w && !worst.CompareAndSwap(w, late); w = worst.Load() {
				}
			}
		})
	}
	for b.Loop() {
		coarse.Seconds.MarkUsed()
		time.Sleep(time.Second)
	}
	stop.Store(true)
	watchers.Wait()
	b.ReportMetric(float64(worst.Load())/1e6, "ms-late-at-most")
}
