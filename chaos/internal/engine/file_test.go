package engine

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"golang.org/x/sys/unix"
)

var rules = lease.Rules{MaxTTL: 10 * time.Second, MaxSkew: time.Second}

func TestSmallDisk(t *testing.T) {
	e, err := StartFileOnSmallDisk(t.Context(), t.TempDir(), rules)
	if errors.Is(err, ErrNotPermitted) {
		t.Skip(err)
	}
	must(t, err)
	f := e.(*File)
	t.Cleanup(f.Stop)
	s, err := Open(t.Context(), f.URL(), Clocks{})
	must(t, err)
	ask := lease.Request{Nodes: 1, TTL: time.Second}
	must(t, f.Locked(f.FillDisk))
	if _, err := s.Acquire(t.Context(), ask); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("full disk: %v, want ENOSPC", err)
	}
	must(t, f.FreeDisk())
	if _, err := s.Acquire(t.Context(), ask); err != nil {
		t.Errorf("disk with space: %v", err)
	}
}

func TestCreateAnew(t *testing.T) {
	e, err := StartFile(t.Context(), t.TempDir(), rules)
	must(t, err)
	f := e.(*File)
	must(t, f.Locked(func() error { return os.Truncate(f.State(), 3) }))
	if _, err := Open(t.Context(), f.URL(), Clocks{}); !errors.Is(err, lease.ErrCorrupt) {
		t.Errorf("Open: %v, want ErrCorrupt", err)
	}
	must(t, f.CreateAnew())
	s, err := Open(t.Context(), f.URL(), Clocks{})
	must(t, err)
	if _, err := s.Acquire(t.Context(), lease.Request{Nodes: 1, TTL: time.Second}); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire from the new store: %v, want ErrNoRange: it must wait for leases that were lost", err)
	}
}
