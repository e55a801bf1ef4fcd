package engine

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"

	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/storetest"
)

// A Memory is an engine in the memory of this process, served to others on a Unix socket.
type Memory struct {
	path     string
	bug      broken.Bug
	memory   *storetest.Memory
	listener net.Listener
	clock    *Clock

	mu      sync.Mutex
	swaps   int
	durable storetest.Snapshot // what a crash leaves, with the bug LateSync
	copied  storetest.Snapshot // what Copy made
	rows    map[string]storetest.Snapshot
}

// syncEvery is how many changes are made durable at once with the bug LateSync.
const syncEvery = 10

// StartMemory starts a Memory.
func StartMemory(ctx context.Context, s Setup) (_ Engine, err error) {
	m := &Memory{path: filepath.Join(s.Dir, "store.sock"), bug: s.Bug, memory: storetest.NewMemory(), rows: make(map[string]storetest.Snapshot)}
	if m.clock, err = newClock(true, s.Dir); err != nil {
		return m, err
	}
	m.memory.SetClock(m.clock.Now)
	if err := m.Restart(); err != nil {
		return m, err
	}
	err = Create(ctx, m.URL(), forNew(s)...)
	m.durable = m.memory.Snapshot()
	return m, err
}

const memoryScheme = "unix://"

func isMemory(url string) bool { return strings.HasPrefix(url, memoryScheme) }

func createMemory(ctx context.Context, url string, options ...store.Option) (*store.Space, error) {
	return store.Create(ctx, connectMemory(url), options...)
}

func connectMemory(url string) store.Engine { return Dial(strings.TrimPrefix(url, memoryScheme)) }

// URL implements Engine.
func (m *Memory) URL() string { return memoryScheme + m.path }

// Clock implements Clocked.
func (m *Memory) Clock() *Clock { return m.clock }

// Stop implements Engine.
func (m *Memory) Stop() {
	if m.listener != nil {
		m.listener.Close()
	}
}

// Crash makes the engine forget what is not durable, and its clients get no answer until Restart.
func (m *Memory) Crash() error {
	err := m.listener.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bug == broken.LateSync {
		m.memory.Restore(m.durable)
	}
	return err
}

// Restart implements Server.
func (m *Memory) Restart() (err error) {
	m.listener, err = net.Listen("unix", m.path)
	if err == nil {
		go Serve(m.listener, storetest.Intercept(m.memory.Connect(), m.sync))
	}
	return err
}

// sync makes a call, and now and then what was changed is durable.
func (m *Memory) sync(ctx context.Context, c storetest.Call, e store.Engine) (store.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer, err := c.On(ctx, e)
	if answer.Swapped {
		if m.swaps++; m.swaps%syncEvery == 0 {
			m.durable = m.memory.Snapshot()
		}
	}
	return answer, err
}

// Copy implements Copied.
func (m *Memory) Copy() error { m.copied = m.memory.Snapshot(); return nil }

// Restore implements Copied. The position is that of the copy.
func (m *Memory) Restore() error { m.memory.Restore(m.copied); return nil }

// SaveRows implements Rows.
func (m *Memory) SaveRows(name string) error { m.rows[name] = m.memory.Snapshot(); return nil }

// PutRows implements Rows. The position grows, as with any change.
func (m *Memory) PutRows(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	saved := m.rows[name]
	saved.Position = m.memory.Snapshot().Position + 1
	m.memory.Restore(saved)
	return nil
}
