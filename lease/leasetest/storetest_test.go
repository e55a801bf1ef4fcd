package leasetest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
)

func startMemory(t *testing.T) func(t *testing.T) store.Engine {
	m := NewMemory()
	m.SetClock(time.Now)
	return func(t *testing.T) store.Engine { return m.Connect() }
}

func TestSuite(t *testing.T) { RunEngine(t, startMemory) }

// A recorder keeps what a check reports.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	reports []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// TestSuiteFindsBug is the negative control: the check of calls finds a bug.
func TestSuiteFindsBug(t *testing.T) {
	r := &recorder{TB: t}
	connect := startMemory(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		checkCalls(newEngineBed(t, r, func(t *testing.T) store.Engine { return Plant(connect(t), IgnoresValues) }))
	}()
	if <-done; len(r.reports) == 0 {
		t.Error("nothing is found")
	}
}

// TestHistoryFindsOverlap is that of History.
func TestHistoryFindsOverlap(t *testing.T) {
	var h History
	h.Granted(lease.Record{Owner: lease.Token{1}, LastNode: 5, Start: 10, HighWater: 20})
	h.Granted(lease.Record{Owner: lease.Token{2}, FirstNode: 5, LastNode: 9, Start: 20, HighWater: 30})
	if h.Check() == nil {
		t.Error("nothing is found")
	}
}
