//go:build linux

package pgstore

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// A proxy passes connections on to a server, and loses replies on demand.
type proxy struct {
	listener net.Listener
	server   string
	cut      atomic.Pointer[string] // the reply to the next request that contains this is lost

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, port int) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: fmt.Sprintf("127.0.0.1:%d", port)}
	t.Cleanup(p.close)
	go p.serve()
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// cutNext makes the reply to the next call of function get lost, and its connection with it.
func (p *proxy) cutNext(function string) {
	call := "." + function + "("
	p.cut.Store(&call)
}

func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var cut atomic.Bool
		go p.pass(client, server, &cut)
		go p.reply(client, server, &cut)
	}
}

// pass passes requests on. None is larger than the buffer.
func (p *proxy) pass(client, server net.Conn, cut *atomic.Bool) {
	defer server.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if call := p.cut.Load(); call != nil && bytes.Contains(buffer[:n], []byte(*call)) {
			p.cut.Store(nil)
			cut.Store(true)
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// reply passes replies on. One that is to be lost has come, so the request took effect.
func (p *proxy) reply(client, server net.Conn, cut *atomic.Bool) {
	defer client.Close()
	defer server.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil || cut.Load() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
}
