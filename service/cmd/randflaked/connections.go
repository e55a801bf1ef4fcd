package main

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// A crowd is the connections that are open. Where there are too many, the address with most of them loses one: that which
// has done nothing for longest, or else the one whose call takes longest. So neither idle connections nor slow ones, however
// many, keep out others. It is safe for concurrent use.
type crowd struct {
	most int

	mu     sync.Mutex
	guests map[net.Conn]*guest
	homes  map[netip.Prefix]*home
}

// A home is an address, with its connections in the order in which they became so.
type home struct {
	address    netip.Prefix
	idle, busy list.List // of net.Conn
}

type guest struct {
	*home
	fresh bool // has not sent a whole request yet
	in    *list.List
	place *list.Element // in it
}

func newCrowd(most int) *crowd {
	return &crowd{most: most, guests: map[net.Conn]*guest{}, homes: map[netip.Prefix]*home{}}
}

// note is the server's ConnState.
func (c *crowd) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.guests[conn]
	switch {
	case state == http.StateNew:
		c.admit(conn)
	case g == nil: // dismissed
	case state == http.StateClosed || state == http.StateHijacked:
		c.remove(conn)
	default:
		g.in.Remove(g.place)
		if g.fresh, g.in = false, &g.idle; state == http.StateActive {
			g.in = &g.busy
		}
		g.place = g.in.PushBack(conn)
	}
}

// admit is called with mu held, as are all that follow.
func (c *crowd) admit(conn net.Conn) {
	address := addressOf(conn)
	h := c.homes[address]
	if h == nil {
		h = &home{address: address}
		c.homes[address] = h
	}
	c.guests[conn] = &guest{home: h, fresh: true, in: &h.idle, place: h.idle.PushBack(conn)}
	if len(c.guests) > c.most {
		c.dismiss()
	}
}

func (h *home) size() int { return h.idle.Len() + h.busy.Len() }

// dismiss closes a connection.
func (c *crowd) dismiss() {
	var largest *home
	for _, h := range c.homes {
		if largest == nil || h.size() > largest.size() {
			largest = h
		}
	}
	first := largest.idle.Front()
	if first == nil {
		first = largest.busy.Front()
	}
	c.end(first.Value.(net.Conn))
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

// dismissFresh closes connections by which nothing came, for which http.Server.Shutdown would wait.
func (c *crowd) dismissFresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, g := range c.guests {
		if g.fresh {
			c.end(conn)
		}
	}
}

func (c *crowd) end(conn net.Conn) {
	c.remove(conn)
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn() // as the other would first say good-bye, and wait for a peer that does not read
	}
	conn.Close()
}

func (c *crowd) remove(conn net.Conn) {
	g := c.guests[conn]
	if g.in.Remove(g.place); g.size() == 0 {
		delete(c.homes, g.address)
	}
	delete(c.guests, conn)
}
