// Bench compares what an ID costs with what people use instead, on the machine at hand. It takes
// about a minute on two processors; nothing else should run meanwhile.
//
//	go run .    prints tables in Markdown, for README.md and docs/benchmarks.md
//
// A new source is an entry in peers.go, opened in sources.go. published.go has the algorithm of
// gosuda.org/randflake.
package main

import (
	"flag"
	"fmt"
	"log"
	"runtime"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/klauspost/cpuid/v2"

	"github.com/randflake/randflake"
)

// A result is all that a run found.
type result struct {
	processors int
	costs      map[load]cost
	latencies  map[string]*hdrhistogram.Histogram // of single calls, in nanoseconds
}

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 5, "how often costs are measured")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		log.Fatal("bench: want flags only, and a round at least")
	}
	r := measure(*rounds, 100*time.Millisecond, time.Second)
	fmt.Print(r.tables())
}

// measure times each load for a slice in every round, and then single calls of each peer for as long
// as calls says.
func measure(rounds int, slice, calls time.Duration) result {
	r := result{
		processors: runtime.GOMAXPROCS(0),
		latencies:  make(map[string]*hdrhistogram.Histogram),
	}
	var loads []load
	for _, p := range peers {
		loads = append(loads, load{p.name, 1})
		if r.processors > 1 {
			loads = append(loads, load{p.name, r.processors})
		}
	}
	for _, p := range texts {
		loads = append(loads, load{p.name, 1})
	}
	r.costs = costs(loads, rounds, slice)
	for _, p := range peers {
		r.latencies[p.name] = latencyOf(p, calls)
	}
	return r
}

// machine is the line below each table.
func (r result) machine() string {
	c := cpuid.CPU // virtual machines often don't tell the name of the model
	return fmt.Sprintf("*%s: %s (family %d, model %d), %d processors, %s, %s.*", time.Now().Format(time.DateOnly),
		strings.TrimSpace(c.BrandName), c.Family, c.Model, r.processors, runtime.Version(), randflake.Backend())
}
