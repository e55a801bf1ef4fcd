package etcdstore

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/randflake/randflake/lease"
)

// A proxy passes connections on to etcd. While it is mute it passes requests on and no replies.
type proxy struct {
	listener net.Listener
	target   string
	mute     atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target}
	go p.run()
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	return p
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) host() string { return p.listener.Addr().String() }

func (p *proxy) run() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		go p.replies(client, server)
	}
}

func (p *proxy) replies(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.mute.Load() {
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestLostReplies: a write takes effect and its reply is lost. It is not sent again, the error is
// none that says how it went, and Lookup tells.
func TestLostReplies(t *testing.T) {
	p := startProxy(t, shared.Members[0].Host())
	url := newURL()
	direct, clock := create(t, url)
	var lose atomic.Bool // the reply to the next write, right before which the clock is asked
	s, err := Open(t.Context(), strings.Replace(url, shared.Hosts(), p.host(), 1), WithClock(func() time.Time {
		if lose.CompareAndSwap(true, false) {
			p.mute.Store(true)
		}
		return clock.Now()
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	revision := func() int64 {
		resp, err := direct.client.Get(t.Context(), "/")
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.Revision
	}
	wantUnknown := func(what string, call func(ctx context.Context) error) {
		t.Helper()
		eventually(t, "connect", func(ctx context.Context) error { _, err := s.List(ctx); return err })
		before := revision()
		lose.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		result := make(chan error, 1)
		go func() { result <- call(ctx) }()
		eventually(t, what+" is written", func(context.Context) error {
			if revision() == before {
				return errors.New("not written")
			}
			return nil
		})
		p.mute.Store(false)
		p.cut()
		err := <-result
		if err == nil || errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrNoRange) || ctx.Err() != nil {
			t.Errorf("%s: error %v, want one that leaves the outcome open", what, err)
		}
		if wrote := revision() - before; wrote != 1 {
			t.Errorf("%s: written %d times, want once", what, wrote)
		}
	}
	var held lease.Record
	eventually(t, "Acquire", func(ctx context.Context) (err error) { held, err = s.Acquire(ctx, oneMinute); return err })

	clock.Advance(time.Second)
	wantUnknown("Renew", func(ctx context.Context) error { _, err := s.Renew(ctx, held, time.Minute); return err })
	var found lease.Record
	eventually(t, "Lookup", func(ctx context.Context) (err error) { found, err = s.Lookup(ctx, held); return err })
	if found.Version != held.Version+1 || found.HighWater != held.HighWater+1 {
		t.Errorf("Lookup after a renewal: %+v, before it %+v", found, held)
	}
	held = renew(t, s, found)

	wantUnknown("Acquire", func(ctx context.Context) error { _, err := s.Acquire(ctx, oneMinute); return err })
	if records, err := direct.List(t.Context()); err != nil || len(records) != 2 {
		t.Errorf("%d ranges granted, %v; want 2", len(records), err)
	}

	wantUnknown("Release", func(ctx context.Context) error {
		p.mute.Store(true) // Release asks no clock
		return s.Release(ctx, held, noon)
	})
	eventually(t, "Lookup", func(ctx context.Context) error {
		if _, err := s.Lookup(ctx, held); !errors.Is(err, lease.ErrLost) {
			return errors.Join(err, errors.New("not released"))
		}
		return nil
	})
	wantFloor(t, direct, 0)
}

// TestNoAnswer: a call ends with its context when etcd is out of reach.
func TestNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, "etcd://"+l.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open: error %v, want DeadlineExceeded", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, "etcd://user:hidden@"+l.Addr().String()); !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "hidden") {
		t.Errorf("Open with a password: error %v, want DeadlineExceeded", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, newURL()); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: error %v, want Canceled", err)
	}
}
