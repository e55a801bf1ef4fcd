package engine

import (
	"context"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/randflake/randflake/chaos/internal/broken"
	"github.com/randflake/randflake/lease"
)

// A Memory is a store in the memory of this process, served to others on a Unix socket.
type Memory struct {
	path     string
	store    *broken.Store
	listener net.Listener
	offset   atomic.Int64
}

// StartMemory returns a Start of a Memory that has a bug, or none.
func StartMemory(bug broken.Bug) Start {
	return func(_ context.Context, dir string, rules lease.Rules) (Engine, error) {
		m := &Memory{path: filepath.Join(dir, "store.sock")}
		m.store = broken.NewStore(bug, rules, func() time.Time {
			return time.Now().Add(time.Duration(m.offset.Load()))
		})
		return m, m.Restart()
	}
}

// URL implements Engine.
func (m *Memory) URL() string { return "unix://" + m.path }

// Stop implements Engine.
func (m *Memory) Stop() {
	if m.listener != nil {
		m.listener.Close()
	}
}

// Crash makes the store forget what is not durable, and its clients get no answer until Restart.
func (m *Memory) Crash() error {
	err := m.listener.Close()
	m.store.Crash()
	return err
}

// Restart implements Server.
func (m *Memory) Restart() (err error) {
	m.listener, err = net.Listen("unix", m.path)
	if err == nil {
		go broken.Serve(m.listener, m.store)
	}
	return err
}

// Step sets how far the store's clock is off.
func (m *Memory) Step(off time.Duration) { m.offset.Store(int64(off)) }
