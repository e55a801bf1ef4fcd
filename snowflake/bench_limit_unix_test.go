//go:build unix

package snowflake

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns how much time all processors have spent on this process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAtTheLimit has one goroutine, and then 64, make as many IDs as the layout gives, by Wait. It
// reports what share of the format's limit that is, how much of one processor the process takes, and
// how much of that goes beyond what the same IDs take without waiting: both are the process's time on
// processors, of which the machine's other work takes none.
func BenchmarkAtTheLimit(b *testing.B) {
	for _, goroutines := range []int{1, 64} {
		b.Run(fmt.Sprint(goroutines), func(b *testing.B) { benchmarkAtTheLimit(b, goroutines) })
	}
}

func benchmarkAtTheLimit(b *testing.B, goroutines int) {
	const ids = 1 << 22 // a second's worth of Twitter's, and 2% more
	make := func(g *Generator) (wall, cpu time.Duration) {
		begin, before := time.Now(), cpuTime(b)
		var makers sync.WaitGroup
		for range goroutines {
			makers.Go(func() {
				for range ids / goroutines {
					if _, err := g.Wait(b.Context()); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		makers.Wait()
		return time.Since(begin), cpuTime(b) - before
	}
	free := benchGenerator(b, farAhead)
	limited := benchGenerator(b)
	var wall, cpu, ideal time.Duration
	for b.Loop() {
		_, c := make(free)
		ideal += c
		w, c := make(limited)
		wall += w
		cpu += c
	}
	made := float64(b.N) * ids
	b.ReportMetric(100*made/wall.Seconds()/rateOf(limited.layout), "%-of-limit")
	b.ReportMetric(100*cpu.Seconds()/wall.Seconds(), "%-of-a-cpu")
	b.ReportMetric(100*(cpu-ideal).Seconds()/wall.Seconds(), "%-of-a-cpu-to-wait")
	b.ReportMetric(float64(ideal.Nanoseconds())/made, "cpu-ns/id")
	b.ReportMetric(0, "ns/op")
}
