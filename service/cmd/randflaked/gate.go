package main

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// A gate lets so many connections be open at a time. When there are more, the one goes that has been idle longest; where none is, the
// new one waits.
type gate struct {
	net.Listener
	most int

	mu     sync.Mutex
	left   *sync.Cond             // a connection was closed, or became idle, or the listener was closed
	open   map[net.Conn]time.Time // since when each is idle; zero for those that are not
	closed bool
}

func newGate(listener net.Listener, most int) *gate {
	g := &gate{Listener: listener, most: most, open: map[net.Conn]time.Time{}}
	g.left = sync.NewCond(&g.mu)
	return g
}

func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.open) >= g.most && !g.closed {
		if !g.closeIdle() {
			g.left.Wait()
		}
	}
	c := &gated{Conn: conn, gate: g}
	g.open[c] = time.Now()
	return c, nil
}

// closeIdle closes the connection that has been idle longest. It is called with mu held.
func (g *gate) closeIdle() bool {
	var oldest net.Conn
	for c, since := range g.open {
		if !since.IsZero() && (oldest == nil || since.Before(g.open[oldest])) {
			oldest = c
		}
	}
	if oldest != nil {
		delete(g.open, oldest)
		go oldest.Close()
	}
	return oldest != nil
}

// note is for http.Server.ConnState.
func (g *gate) note(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.open[conn]; ok && (state == http.StateActive || state == http.StateIdle) {
		g.open[conn] = time.Time{}
		if state == http.StateIdle {
			g.open[conn] = time.Now()
			g.left.Signal()
		}
	}
}

func (g *gate) Close() error {
	g.mu.Lock()
	g.closed = true
	g.left.Broadcast()
	g.mu.Unlock()
	return g.Listener.Close()
}

type gated struct {
	net.Conn
	gate *gate
}

func (c *gated) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.open, c)
	c.gate.left.Signal()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
