package engine

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

var (
	limits = store.Limits{MaxTTL: 10 * time.Second, MaxSkew: time.Second}
	one    = lease.Request{Nodes: 1, TTL: time.Second}
)

func open(t *testing.T, f *File) lease.Source {
	t.Helper()
	s, err := Open(t.Context(), f.URL(), broken.None)
	must(t, err)
	return lease.On(s)
}

func TestSmallDisk(t *testing.T) {
	e, err := StartFileOnSmallDisk(t.Context(), Setup{Dir: t.TempDir(), Limits: limits})
	if errors.Is(err, ErrNotPermitted) {
		t.Skip(err)
	}
	must(t, err)
	f := e.(*File)
	t.Cleanup(f.Stop)
	s := open(t, f)
	must(t, f.Locked(f.FillDisk))
	if _, err := s.Acquire(t.Context(), one); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("full disk: %v, want ENOSPC", err)
	}
	must(t, f.FreeDisk())
	if _, err := s.Acquire(t.Context(), one); err != nil {
		t.Errorf("disk with space: %v", err)
	}
}

func TestCreateAnew(t *testing.T) {
	e, err := StartFile(t.Context(), Setup{Dir: t.TempDir(), Limits: limits})
	must(t, err)
	f := e.(*File)
	newest, err := f.Newest()
	must(t, err)
	must(t, f.Locked(func() error { return os.Truncate(newest, 3) }))
	if _, err := Open(t.Context(), f.URL(), broken.None); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Open: %v, want ErrCorrupt", err)
	}
	must(t, f.CreateAnew())
	if _, err := open(t, f).Acquire(t.Context(), one); !errors.Is(err, lease.ErrNoRange) {
		t.Errorf("Acquire from the new store: %v, want ErrNoRange: it must wait for leases that were lost", err)
	}
}

// TestRemote runs the conformance suite over a socket.
func TestRemote(t *testing.T) {
	storetest.RunEngine(t, func(t *testing.T) func(t *testing.T) store.Engine {
		dir, err := os.MkdirTemp("", "") // t.TempDir may be longer than a socket's name can be
		must(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		listener, err := net.Listen("unix", filepath.Join(dir, "s"))
		must(t, err)
		t.Cleanup(func() { listener.Close() })
		memory := storetest.NewMemory()
		go Serve(listener, memory.Connect())
		return func(t *testing.T) store.Engine { return Dial(filepath.Join(dir, "s")) }
	})
}
