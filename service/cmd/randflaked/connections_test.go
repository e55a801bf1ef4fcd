package main

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/randflake/randflake/service/internal/config"
)

// A fakeConn has an address, and is closed or not.
type fakeConn struct {
	net.Conn
	address string
	closed  bool
}

func (c *fakeConn) Close() error         { c.closed = true; return nil }
func (c *fakeConn) RemoteAddr() net.Addr { a, _ := net.ResolveTCPAddr("tcp", c.address); return a }

// TestConnections: the address with most connections loses one, the idlest, and others none.
func TestConnections(t *testing.T) {
	c := newConnections(5)
	closed := []string{}
	var conns []*fakeConn
	come := func(address string, states ...http.ConnState) {
		conn := &fakeConn{address: address}
		conns = append(conns, conn)
		for _, state := range append([]http.ConnState{http.StateNew}, states...) {
			c.note(conn, state)
		}
		for _, conn := range conns {
			if conn.closed {
				closed = append(closed, conn.address)
				c.note(conn, http.StateClosed)
				conn.closed = false
			}
		}
	}
	come("10.0.0.1:1", http.StateActive)
	come("[2001:db8::1]:1", http.StateActive)
	come("[2001:db8::2]:2", http.StateActive, http.StateIdle)
	come("[2001:db8::3]:3", http.StateActive, http.StateIdle)
	come("10.0.0.2:1")
	come("10.0.0.2:2")                   // six: of one network of IPv6 are three, the first idle one of which goes
	come("10.0.0.2:3", http.StateActive) // three of this address
	come("10.0.0.2:4", http.StateActive) // and again: the second one
	want := []string{"[2001:db8::2]:2", "10.0.0.2:1", "10.0.0.2:2"}
	if !slices.Equal(closed, want) {
		t.Errorf("closed %q, want %q", closed, want)
	}
	c.dismissFresh()
	if len(c.all) != 5 {
		t.Errorf("connections with a request were taken for fresh ones: %d are left", len(c.all))
	}
	fresh := &fakeConn{address: "10.0.0.3:1"}
	c.most++
	c.note(fresh, http.StateNew)
	if c.dismissFresh(); !fresh.closed || len(c.all) != 5 || len(c.peers) != 3 {
		t.Errorf("a fresh connection at the end: closed %v, and %d are left, of %d addresses", fresh.closed, len(c.all), len(c.peers))
	}
}

// settle waits until there are no more goroutines and descriptors than before, give or take some of the tests themselves.
func settle(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now := inUse()
		if now <= before+8 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and descriptors, before it were %d", now, before)
		}
	}
}

func inUse() int {
	open, _ := filepath.Glob("/proc/self/fd/*")
	return runtime.NumGoroutine() + len(open)
}

// newDemo starts a service as --dev does, with bounds, and returns a client for it.
func newDemo(t *testing.T, b bounds) (*process, *http.Client) {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	dir := filepath.Join(t.TempDir(), "state")
	return startWithin(t, b, func() (*config.Config, error) { return demo(dir, "localhost:0") }, client), client
}

// wantIDs waits until a client gets IDs. On a slow machine a call may be given up as one of a slow client.
func wantIDs(t *testing.T, p *process, client *http.Client) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		a, err := client.Post(p.url()+"/v1/spaces/demo/ids?count=5", "", nil)
		if err == nil {
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("status %s", a.Status)
		}
		if time.Now().After(end) {
			t.Fatalf("no IDs: %v", err)
		}
	}
}

// TestManyIdle: ten thousand connections that do nothing keep nobody out, neither from elsewhere nor from the same address,
// and leave nothing behind.
func TestManyIdle(t *testing.T) {
	many := min(10_000, descriptors()-usual.connections-1000)
	if many < usual.connections {
		t.Skipf("%d descriptors are too few for so many connections", descriptors())
	}
	p, client := newDemo(t, usual)
	wantIDs(t, p, client)
	before := inUse()
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: time.Minute}
	idle := make([]net.Conn, many)
	for i := range idle {
		var err error
		if idle[i], err = from.Dial("tcp4", p.listener.Addr().String()); err != nil {
			t.Skipf("no other address of this machine: %v", err)
		}
		if i%4 == 0 { // some are known to be clients
			fmt.Fprintf(idle[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	wantIDs(t, p, client) // by a connection that was there before
	client.CloseIdleConnections()
	wantIDs(t, p, client)
	if n := p.connections.len(); n > usual.connections {
		t.Errorf("%d connections, want at most %d", n, usual.connections)
	}
	for _, conn := range idle {
		conn.Close()
	}
	settle(t, before)
}

func (c *connections) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}
