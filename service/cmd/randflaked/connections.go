package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// A crowd is the connections that are open. Where there are too many, the address with most of them loses one: that which
// has done nothing for longest, or else the one whose call takes longest. So neither idle connections nor slow ones, however
// many, keep out others. It is safe for concurrent use.
type crowd struct {
	most int

	mu     sync.Mutex
	guests map[net.Conn]*guest
	from   map[netip.Prefix]int // how many, by address
}

type guest struct {
	address netip.Prefix
	busy    bool
	since   time.Time // when it began to be so
}

func newCrowd(most int) *crowd {
	return &crowd{most: most, guests: map[net.Conn]*guest{}, from: map[netip.Prefix]int{}}
}

// note is the server's ConnState.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guests[conn]
	switch {
	case state == http.StateNew:
		g = &guest{address: addressOf(conn), since: time.Now()}
		c.guests[conn] = g
		c.from[g.address]++
		if len(c.guests) > c.most {
			c.dismiss()
		}
	case g == nil: // dismissed
	case state == http.StateClosed || state == http.StateHijacked:
		c.remove(conn)
	default:
		g.busy, g.since = state == http.StateActive, time.Now()
	}
}

// addressOf returns what connections are counted by: an address, and of IPv6 the network, which has more of them than there
// are connections.
func addressOf(conn net.Conn) netip.Prefix {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Prefix{}
	}
	address, bits := from.Addr().Unmap(), 64
	if address.Is4() {
		bits = 32
	}
	network, _ := address.WithZone("").Prefix(bits) // fails for no such length
	return network
}

// dismiss closes a connection. It is called with mu held.
func (c *crowd) dismiss() {
	var last net.Conn
	for conn, g := range c.guests {
		if last == nil || c.sooner(g, c.guests[last]) {
			last = conn
		}
	}
	c.remove(last)
	if secure, ok := last.(*tls.Conn); ok {
		last = secure.NetConn() // as the other would first say good-bye, and wait for a peer that does not read
	}
	last.Close()
}

// sooner reports whether a has to go sooner than b.
func (c *crowd) sooner(a, b *guest) bool {
	switch {
	case c.from[a.address] != c.from[b.address]:
		return c.from[a.address] > c.from[b.address]
	case a.busy != b.busy:
		return b.busy
	}
	return a.since.Before(b.since)
}

// remove is called with mu held.
func (c *crowd) remove(conn net.Conn) {
	address := c.guests[conn].address
	if c.from[address]--; c.from[address] == 0 {
		delete(c.from, address)
	}
	delete(c.guests, conn)
}
