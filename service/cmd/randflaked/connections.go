package main

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A connection of a client.
type connection struct {
	net.Conn
	old    time.Time     // when it becomes old
	resets *rate.Limiter // of calls that the client gave up
}

// connectionKey is the context's key of a call's connection.
type connectionKey struct{}

// tended ends an old connection with its next call, after those that are under way. Its client then
// connects again: to any of the replicas, and with a new certificate if it has one.
//
// In HTTP/2 a call that is given up at once costs its client nearly nothing, and no limit of calls under
// way counts it. So a connection with many of them is cut, and also one that should end, which its
// client does not learn if it gives up that call.
func tended(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(connectionKey{}).(*connection)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		if time.Now().After(c.old) {
			w.Header().Set("Connection", "close") // in HTTP/2, GOAWAY
		}
		next.ServeHTTP(w, r)
		gaveUp := r.ProtoMajor == 2 && r.Context().Err() != nil
		if gaveUp && (w.Header().Get("Connection") == "close" || !c.resets.Allow()) {
			go c.Close() // takes a while with TLS
		}
	})
}

// connections bound how many connections are open at a time. One more than most closes the one that
// has been idle longest, which is the new one itself if all others are in use.
type connections struct {
	most  int
	count func(int) // is told how many are open

	mu   sync.Mutex
	open map[net.Conn]time.Time // since when each is idle; zero for those in use
}

func newConnections(most int, count func(int)) *connections {
	return &connections{most: most, count: count, open: map[net.Conn]time.Time{}}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, isOpen := c.open[conn] // false for a new one, and once closeIdlest has chosen it
	switch state {
	case http.StateNew:
		c.open[conn] = time.Now()
	case http.StateIdle:
		if isOpen {
			c.open[conn] = time.Now()
		}
	case http.StateActive:
		if isOpen {
			c.open[conn] = time.Time{}
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	}
	if len(c.open) > c.most {
		c.closeIdlest()
	}
	c.count(len(c.open))
}

// closeIdlest closes the connection that has been idle longest. There is one: a new one counts as idle.
func (c *connections) closeIdlest() {
	var idlest net.Conn
	for conn, since := range c.open {
		inUse := since.IsZero()
		if !inUse && (idlest == nil || since.Before(c.open[idlest])) {
			idlest = conn
		}
	}
	delete(c.open, idlest)
	go idlest.Close() // takes a while with TLS
}
