// Package servers starts real database servers for tests, each on a free port of 127.0.0.1 with its
// data in a directory of the caller's. They die with the process that started them, as far as the
// system can see to that.
package servers

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
)

// A Proxy passes connections on to a server, counts requests, and loses replies on demand. It is
// safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   atomic.Value // a string
	requests atomic.Int64
	muted    atomic.Bool
	lose     atomic.Pointer[[]byte] // nil while no reply is to be lost

	mu    sync.Mutex
	conns []net.Conn
}

// StartProxy starts a proxy to the server at an address.
func StartProxy(server string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener}
	p.server.Store(server)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(client)
		}
	}()
	return p, nil
}

// Addr returns the address where clients find the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Requests returns how many requests there were, in the sense that a client sends one at a time, in
// one go.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// LoseReply loses the reply to the next request that has part in it, and its connection with that,
// once the server has answered.
func (p *Proxy) LoseReply(part string) { lose := []byte(part); p.lose.Store(&lose) }

// Lost reports whether the request that LoseReply waits for has come.
func (p *Proxy) Lost() bool { return p.lose.Load() == nil }

// Mute makes the replies of all connections disappear, while requests are passed on, or lets them
// pass again.
func (p *Proxy) Mute(on bool) { p.muted.Store(on) }

// Cut closes all connections. New ones are passed on.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// Redirect passes new connections on to another server, and closes all others.
func (p *Proxy) Redirect(server string) { p.server.Store(server); p.Cut() }

// Close ends the proxy and cuts its connections.
func (p *Proxy) Close() { p.listener.Close(); p.Cut() }

// pass passes on what a client says, and the replies. No request is larger than the buffer.
func (p *Proxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server.Load().(string))
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	var last atomic.Bool // the next reply is the one to lose
	go each(server, client, func(reply []byte) bool {
		if last.Load() {
			return false
		}
		if !p.muted.Load() {
			client.Write(reply)
		}
		return true
	})
	each(client, server, func(request []byte) bool {
		p.requests.Add(1)
		if part := p.lose.Load(); part != nil && bytes.Contains(request, *part) && p.lose.CompareAndSwap(part, nil) {
			last.Store(true)
		}
		_, err := server.Write(request)
		return err == nil
	})
}

// each calls do with what comes from one side until that ends or do says so, and closes both.
func each(from, to net.Conn, do func([]byte) (more bool)) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || !do(buffer[:n]) {
			return
		}
	}
}
