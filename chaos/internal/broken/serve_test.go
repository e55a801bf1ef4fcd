package broken

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
)

var ctx = context.Background()

// TestStoreWithoutBug is the control of those with bugs.
func TestStoreWithoutBug(t *testing.T) {
	leasetest.Run(t, leasetest.Harness{New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
		s := NewStore(None, rules, clock)
		return func() (lease.Store, error) { s.Crash(); return s, nil }
	}})
}

// TestDial runs the conformance suite over a socket.
func TestDial(t *testing.T) {
	leasetest.Run(t, leasetest.Harness{New: func(t *testing.T, rules lease.Rules, clock func() time.Time) func() (lease.Store, error) {
		path := serve(t, NewStore(None, rules, clock))
		return func() (lease.Store, error) { return Dial(path), nil }
	}})
}

// serve serves s until the test ends, and returns where.
func serve(t *testing.T, s lease.Store) (path string) {
	dir, err := os.MkdirTemp("", "") // t.TempDir may be longer than a socket's name can be
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- Serve(listener, s) }()
	t.Cleanup(func() {
		listener.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		os.RemoveAll(dir)
	})
	return path
}

func TestServerThatIsGone(t *testing.T) {
	memory := leasetest.NewMemory(lease.DefaultRules(), nil)
	path := filepath.Join(t.TempDir(), "s")
	s := Dial(path)
	_, err := s.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute})
	if err == nil || errors.Is(err, lease.ErrNoRange) || errors.Is(err, lease.ErrNoStore) {
		t.Errorf("Acquire without a server: error %v, want none of package lease's", err)
	}

	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { // takes a call to the store, and then its reply gets lost
		defer close(gone)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		here, there := net.Pipe()
		go answer(there, memory)
		buffer := make([]byte, 1<<16)
		n, _ := conn.Read(buffer)
		here.Write(buffer[:n])
		here.Read(buffer)
		conn.Close()
		listener.Close()
	}()
	if _, err := s.Acquire(ctx, lease.Request{Nodes: 1, TTL: time.Minute}); err == nil {
		t.Error("Acquire whose reply got lost: no error")
	}
	<-gone
	if records, _ := memory.List(ctx); len(records) != 1 {
		t.Errorf("the store has %+v, want the lease of the call whose reply got lost", records)
	}

	back, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	go Serve(back, memory)
	if records, err := s.List(ctx); err != nil || len(records) != 1 {
		t.Errorf("List with the server back: %+v, error %v", records, err)
	}
}

func TestCallThatTakesTooLong(t *testing.T) {
	memory := leasetest.NewMemory(lease.DefaultRules(), nil)
	s := Dial(serve(t, memory))
	memory.Inject(func(leasetest.Op) leasetest.Fault { return leasetest.Fault{Hang: true} })
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	if _, err := s.List(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("List: error %v, want that of the context", err)
	}
}

func TestClosed(t *testing.T) {
	s := Dial(serve(t, NewStore(None, lease.DefaultRules(), nil)))
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := s.List(ctx); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("List: error %v, want that the store is closed", err)
	}
}
