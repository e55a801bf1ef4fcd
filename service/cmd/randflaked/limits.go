package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/randflake/randflake/service/internal/server"
)

// Limits keep slow or numerous clients from holding up others.
type limits struct {
	connections int

	// For how long a client is waited for:
	header time.Duration
	read   time.Duration
	write  time.Duration
	idle   time.Duration

	age     time.Duration // after which a connection takes no more calls, or a tenth later
	leave   time.Duration // in which clients learn of SIGTERM and connect elsewhere
	drain   time.Duration // with calls that are under way at the end
	renewal time.Duration // of files, which are read again after each
}

var usual = limits{
	connections: 4096,
	header:      5 * time.Second,
	read:        15 * time.Second,
	write:       30 * time.Second,
	idle:        2 * time.Minute,
	age:         15 * time.Minute,
	leave:       3 * time.Second,
	drain:       3 * time.Second,
	renewal:     time.Minute,
}

const (
	maxStreams  = 100 // calls at a time on one connection
	maxHeader   = 16 << 10
	maxReceived = 64 << 10 // bytes of bodies that a connection may send ahead
	maxProbes   = 64       // connections
	pingTime    = 15 * time.Second
)

// calls returns the server for HTTP/1.1 and for HTTP/2, which gRPC uses without TLS too.
func (l limits) calls(s *server.Server, logger *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           retiring(s.Handler()),
		Protocols:         protocols,
		ReadHeaderTimeout: l.header,
		ReadTimeout:       l.read,
		WriteTimeout:      l.write,
		IdleTimeout:       l.idle,
		MaxHeaderBytes:    maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerConnection: maxReceived,
			MaxReceiveBufferPerStream:     maxReceived,
			SendPingTimeout:               pingTime, // of a peer that is gone
			WriteByteTimeout:              l.write,  // of one that does not read
		},
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, oldKey{}, time.Now().Add(l.age+rand.N(l.age/10+1)))
		},
		ConnState: newConnections(l.connections, s.Connections.Set).changed,
		ErrorLog:  slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // TLS handshakes that failed, which strangers can cause at will
	}
}

type oldKey struct{} // of the time from which on a connection is old

// retiring has old connections end after the calls that are under way. The client connects to any of the replicas then, with the
// certificate that it has by then.
func retiring(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if old, ok := r.Context().Value(oldKey{}).(time.Time); ok && time.Now().After(old) {
			w.Header().Set("Connection", "close") // in HTTP/2, GOAWAY
		}
		next.ServeHTTP(w, r)
	})
}

// probes returns the server of what anybody may ask.
func (l limits) probes(s *server.Server) *http.Server {
	return &http.Server{
		Handler:        s.Probes(),
		ReadTimeout:    l.header,
		WriteTimeout:   l.header,
		IdleTimeout:    l.header,
		MaxHeaderBytes: maxHeader,
		ConnState:      newConnections(maxProbes, func(float64) {}).changed,
	}
}

// Connections limit how many are open at a time. When there are more, the one that has been idle longest is closed: the new one, if
// all others are in use.
type connections struct {
	most  int
	count func(float64) // is told how many are open

	mu   sync.Mutex
	open map[net.Conn]time.Time // since when each is idle; zero for those that are not
}

func newConnections(most int, count func(float64)) *connections {
	return &connections{most: most, count: count, open: map[net.Conn]time.Time{}}
}

// changed is for http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.open[conn] // or it is being closed
	switch {
	case state == http.StateNew, known && state == http.StateIdle:
		c.open[conn] = time.Now()
	case known && state == http.StateActive:
		c.open[conn] = time.Time{}
	case state == http.StateClosed || state == http.StateHijacked:
		delete(c.open, conn)
	}
	if len(c.open) > c.most {
		var oldest net.Conn
		for other, since := range c.open {
			if !since.IsZero() && (oldest == nil || since.Before(c.open[oldest])) {
				oldest = other
			}
		}
		delete(c.open, oldest)
		go oldest.Close() // which takes a while with TLS
	}
	c.count(float64(len(c.open)))
}
