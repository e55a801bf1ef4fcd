package main

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// A gate lets so many connections be open at a time. When there are more, the one goes that has been idle longest, which is the new
// one if all others are in use.
type gate struct {
	most  int
	count func(float64) // is told how many are open

	mu   sync.Mutex
	open map[net.Conn]time.Time // since when each is idle; zero for those that are not
}

func newGate(most int, count func(float64)) *gate {
	return &gate{most: most, count: count, open: map[net.Conn]time.Time{}}
}

// note is for http.Server.ConnState.
func (g *gate) note(conn net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.open[conn] // or it has to go
	switch {
	case state == http.StateNew, known && state == http.StateIdle:
		g.open[conn] = time.Now()
	case known && state == http.StateActive:
		g.open[conn] = time.Time{}
	case state == http.StateClosed || state == http.StateHijacked:
		delete(g.open, conn)
	}
	if len(g.open) > g.most {
		var oldest net.Conn
		for c, since := range g.open {
			if !since.IsZero() && (oldest == nil || since.Before(g.open[oldest])) {
				oldest = c
			}
		}
		delete(g.open, oldest)
		go oldest.Close() // which takes a while with TLS
	}
	g.count(float64(len(g.open)))
}
