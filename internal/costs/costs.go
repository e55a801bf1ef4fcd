// Package costs measures what IDs cost on this machine with each backend of the cipher, beside a random number, a reading of the
// clock and a block of AES in the same loop, and compares two such measurements.
package costs

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/backends"
)

// A Report is one measurement.
type Report struct {
	Time       time.Time `json:"time"`
	CPU        string    `json:"cpu"`
	Processors int       `json:"processors"` // GOMAXPROCS
	OS         string    `json:"os"`
	Arch       string    `json:"arch"`
	Kernel     string    `json:"kernel,omitempty"`
	Go         string    `json:"go"`
	Version    string    `json:"version"` // of the program, which the caller knows
	Rows       []Row     `json:"rows"`
}

// A Row is what one subject costs.
type Row struct {
	Backend     string      `json:"backend,omitempty"`
	Name        string      `json:"name"`
	Nanoseconds []float64   `json:"nanoseconds"` // for each ID or block, one figure for each round
	Ratios      []float64   `json:"ratios"`      // the same in units of rand.Int64 in that round
	Calls       Percentiles `json:"calls,omitzero"`
}

// Percentiles are of single calls in nanoseconds, with a reading of the clock in each.
type Percentiles struct {
	P50  int64 `json:"p50"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p99.9"`
}

// Measure takes as many rounds. A round measures all subjects for a slice each, in random order: what changes about the machine
// meanwhile meets them all alike.
func Measure(ctx context.Context, rounds int, slice time.Duration) (*Report, error) {
	defer backends.Use(randflake.Backend())
	list, err := subjects()
	if err != nil {
		return nil, err
	}
	report := describe()
	calls := make([][]int64, len(list))
	for _, s := range list {
		report.Rows = append(report.Rows, Row{Backend: s.backend, Name: s.name})
	}
	one := slices.IndexFunc(list, func(s subject) bool { return s.name == unit })
	for range rounds {
		for _, i := range rand.Perm(len(list)) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if list[i].backend != "" {
				backends.Use(list[i].backend)
			}
			report.Rows[i].Nanoseconds = append(report.Rows[i].Nanoseconds, list[i].cost(slice))
			if list[i].single {
				calls[i] = list[i].appendCalls(calls[i])
			}
		}
		for i := range report.Rows {
			row := &report.Rows[i]
			row.Ratios = append(row.Ratios, last(row.Nanoseconds)/last(report.Rows[one].Nanoseconds))
		}
	}
	for i, durations := range calls {
		report.Rows[i].Calls = percentiles(durations)
	}
	return report, nil
}

func last(list []float64) float64 { return list[len(list)-1] }

// cost returns the nanoseconds that doing it once takes: in the fastest of the chunks that fit a slice of time, as what else
// the machine does only adds.
func (s subject) cost(slice time.Duration) float64 {
	const chunk = 4 * inBulk
	s.do(chunk)
	fastest := time.Duration(math.MaxInt64)
	for start := time.Now(); time.Since(start) < slice || fastest == math.MaxInt64; {
		begun := time.Now()
		s.do(chunk)
		fastest = min(fastest, max(time.Since(begun), 1))
	}
	return float64(fastest) / chunk
}

// appendCalls appends how long single calls take.
func (s subject) appendCalls(durations []int64) []int64 {
	for range 1 << 14 {
		start := time.Now()
		s.do(1)
		durations = append(durations, int64(time.Since(start)))
	}
	return durations
}

func percentiles(durations []int64) Percentiles {
	if len(durations) == 0 {
		return Percentiles{}
	}
	slices.Sort(durations)
	at := func(share float64) int64 { return durations[int(share*float64(len(durations)-1))] }
	return Percentiles{P50: at(0.5), P99: at(0.99), P999: at(0.999)}
}

func describe() *Report {
	return &Report{
		Time:       time.Now().UTC().Truncate(time.Second),
		CPU:        CPU(),
		Processors: runtime.GOMAXPROCS(0),
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		Kernel:     kernel(),
		Go:         runtime.Version(),
	}
}

// CPU names the processor by its family and model too, since virtual machines often don't tell the model's name.
func CPU() string {
	return fmt.Sprintf("%s (family %d, model %d)", strings.TrimSpace(cpuid.CPU.BrandName), cpuid.CPU.Family, cpuid.CPU.Model)
}

// kernel returns the release of Linux, or nothing elsewhere.
func kernel() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(release))
}

// Median returns the middle of some figures.
func Median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}
