//go:build gc && !purego

package randflake

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/randflake/randflake/internal/testing/tsc"
)

var histogramFile = flag.String("histogram", "", "file for the histogram of BenchmarkGenerateLatency")

// A histogram counts durations in ticks of the time-stamp counter; the last bucket takes all that are
// longer.
type histogram struct {
	counts [1 << 16]uint64
	total  uint64
	max    uint64
}

func (h *histogram) add(ticks uint64) {
	h.counts[min(ticks, uint64(len(h.counts)-1))]++
	h.total++
	h.max = max(h.max, ticks)
}

// quantile returns the shortest duration that the part q of all do not exceed.
func (h *histogram) quantile(q float64) uint64 {
	rank := uint64(q * float64(h.total))
	var seen uint64
	for ticks, n := range h.counts {
		if seen += n; seen > rank {
			return uint64(ticks)
		}
	}
	return h.max
}

// ticksPerNanosecond compares the counter with the clock.
func ticksPerNanosecond() float64 {
	start, from := time.Now(), tsc.Now()
	for time.Since(start) < 50*time.Millisecond {
	}
	return float64(tsc.Now()-from) / float64(time.Since(start))
}

// BenchmarkGenerateLatency times every single call. What two readings of the counter cost with nothing
// between them is timed in turn with it: its median is subtracted, and its tail is what the machine
// itself does to whoever runs on it (interrupts, a hypervisor), so that Generate answers only for
// what goes beyond. Virtual machines may have a counter that moves in steps of 10 ns, so the median
// also comes from batches of 16 calls. Run it for some seconds, so that seconds roll over: -benchtime
// 5s.
func BenchmarkGenerateLatency(b *testing.B) {
	g := benchGenerator(b)
	rate := ticksPerNanosecond()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	generate, nothing, batches := new(histogram), new(histogram), new(histogram)
	const batch = 16
	b.ResetTimer()
	for range b.N {
		t0 := tsc.Now()
		t1 := tsc.Now()
		id, err := g.Generate()
		t2 := tsc.Now()
		if err != nil {
			b.Fatal(err)
		}
		sinkID = id
		nothing.add(t1 - t0)
		generate.add(t2 - t1)

		t0 = tsc.Now()
		for range batch {
			if sinkID, err = g.Generate(); err != nil {
				b.Fatal(err)
			}
		}
		batches.add(tsc.Now() - t0)
	}
	b.StopTimer()
	overhead := nothing.quantile(0.5)
	report := func(unit string, ticks uint64) {
		b.ReportMetric(float64(ticks-min(ticks, overhead))/rate, unit)
	}
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", 0.5}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}} {
		report(q.name+"-ns", generate.quantile(q.q))
		report(q.name+"-machine-ns", nothing.quantile(q.q))
	}
	b.ReportMetric(float64(batches.quantile(0.5)-overhead)/batch/rate, "p50-of-batches-ns")
	report("max-ns", generate.max)
	report("max-machine-ns", nothing.max)
	b.ReportMetric(0, "ns/op")
	if *histogramFile != "" {
		writeHistogram(b, rate, overhead, generate, nothing)
	}
}

// writeHistogram writes a line for each duration that occurred: nanoseconds, calls of Generate that
// took as long, pairs of readings with nothing between them that did.
func writeHistogram(b *testing.B, rate float64, overhead uint64, generate, nothing *histogram) {
	f, err := os.Create(*histogramFile)
	if err != nil {
		b.Fatal(err)
	}
	fmt.Fprintln(f, "ns,generate,nothing")
	for ticks := range generate.counts {
		if generate.counts[ticks]+nothing.counts[ticks] > 0 {
			fmt.Fprintf(f, "%.2f,%d,%d\n", (float64(ticks)-float64(overhead))/rate, generate.counts[ticks], nothing.counts[ticks])
		}
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}
