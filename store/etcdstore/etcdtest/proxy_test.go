package etcdtest_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
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

func (p *proxy) host() string { return p.listener.Addr().String() }

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

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
		go func() {
			io.Copy(replies{p, client}, server)
			client.Close()
		}()
	}
}

// replies writes to a client, unless the proxy is mute.
type replies struct {
	*proxy
	client net.Conn
}

func (r replies) Write(b []byte) (int, error) {
	if r.mute.Load() {
		return len(b), nil
	}
	return r.client.Write(b)
}
