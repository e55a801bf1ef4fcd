package main

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// connections holds the open connections. If there are too many, the address with the most of them loses one: its
// longest idle connection, or else the one with the longest call. So no number of idle or slow connections keeps out
// others. It is safe for concurrent use.
type connections struct {
	most int

	mu    sync.Mutex
	all   map[net.Conn]*connection
	peers map[netip.Prefix]*peer
}

// A peer is an address with its idle and its busy connections, each list in the order in which they became so.
type peer struct {
	address    netip.Prefix
	idle, busy list.List // of net.Conn
}

type connection struct {
	*peer
	fresh   bool // has not sent a whole request yet
	in      *list.List
	element *list.Element // in it
}

func newConnections(most int) *connections {
	return &connections{most: most, all: map[net.Conn]*connection{}, peers: map[netip.Prefix]*peer{}}
}

// note is the server's ConnState.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.all[conn]
	switch {
	case state == http.StateNew:
		c.admit(conn)
	case g == nil: // dismissed
	case state == http.StateClosed || state == http.StateHijacked:
		c.remove(conn)
	default:
		g.in.Remove(g.element)
		if g.fresh, g.in = false, &g.idle; state == http.StateActive {
			g.in = &g.busy
		}
		g.element = g.in.PushBack(conn)
	}
}

// admit and the methods below are called with mu held.
func (c *connections) admit(conn net.Conn) {
	address := addressOf(conn)
	h := c.peers[address]
	if h == nil {
		h = &peer{address: address}
		c.peers[address] = h
	}
	c.all[conn] = &connection{peer: h, fresh: true, in: &h.idle, element: h.idle.PushBack(conn)}
	if len(c.all) > c.most {
		c.dismiss()
	}
}

func (h *peer) size() int { return h.idle.Len() + h.busy.Len() }

// dismiss closes a connection.
func (c *connections) dismiss() {
	var largest *peer
	for _, h := range c.peers {
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

// addressOf returns the key by which connections are counted: an IPv4 address, or an IPv6 network, since one IPv6 user
// has a whole network of addresses.
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

// dismissFresh closes connections without a request, which http.Server.Shutdown would wait for.
func (c *connections) dismissFresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, g := range c.all {
		if g.fresh {
			c.end(conn)
		}
	}
}

func (c *connections) end(conn net.Conn) {
	c.remove(conn)
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn() // as the other would first say good-bye, and wait for a peer that does not read
	}
	conn.Close()
}

func (c *connections) remove(conn net.Conn) {
	g := c.all[conn]
	if g.in.Remove(g.element); g.size() == 0 {
		delete(c.peers, g.address)
	}
	delete(c.all, conn)
}
