//go:build unix

package snowflake

import (
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

// BenchmarkAtTheLimit has one goroutine make as many IDs as the layout gives, with a policy that
// waits. It reports what share of the format's limit that is, how much of one processor the process
// takes, and how much of that goes beyond what the same IDs take without waiting: both are the
// process's time on processors, of which the machine's other work takes none.
func BenchmarkAtTheLimit(b *testing.B) {
	const ids = 1 << 22 // a second's worth of Twitter's, and 2% more
	make := func(b *testing.B, g *Generator) (wall, cpu time.Duration) {
		begin, before := time.Now(), cpuTime(b)
		for range ids {
			id, err := g.Generate()
			if err != nil {
				b.Fatal(err)
			}
			sinkID = id
		}
		return time.Since(begin), cpuTime(b) - before
	}
	free := benchGenerator(b, farAhead)
	limited := benchGenerator(b, WaitNext(time.Minute))
	var wall, cpu, ideal time.Duration
	for b.Loop() {
		_, c := make(b, free)
		ideal += c
		w, c := make(b, limited)
		wall += w
		cpu += c
	}
	made := float64(b.N) * ids
	b.ReportMetric(100*made/wall.Seconds()/limited.layout.Rate(), "%-of-limit")
	b.ReportMetric(100*cpu.Seconds()/wall.Seconds(), "%-of-a-cpu")
	b.ReportMetric(100*(cpu-ideal).Seconds()/wall.Seconds(), "%-of-a-cpu-to-wait")
	b.ReportMetric(float64(ideal.Nanoseconds())/made, "cpu-ns/id")
	b.ReportMetric(0, "ns/op")
}
