//go:build linux

package mysqlstore

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/randflake/randflake/store/storetest/servers"
)

// A proxy passes connections on to a server, counts requests, and loses replies on demand.
type proxy struct {
	net.Listener
	requests atomic.Int64
	cut      atomic.Bool // the next reply is lost, and its connection with it
	lost     atomic.Bool // that has happened
}

func newProxy(t testing.TB, server *servers.MySQL) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{Listener: listener}
	t.Cleanup(func() { p.Close() })
	go func() {
		for {
			client, err := p.Accept()
			if err != nil {
				return
			}
			go p.pass(client, server.Addr())
		}
	}()
	return p
}

// pass passes on what client says, and the replies. No request is larger than the buffer.
func (p *proxy) pass(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer server.Close()
		defer client.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if err != nil || p.cut.Load() && p.lost.CompareAndSwap(false, true) {
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		p.requests.Add(1)
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}
