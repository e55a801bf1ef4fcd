package main

import (
	"context"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"

	"github.com/randflake/randflake/service/internal/server"
)

// limits are a daemon's bounds and times. Tests have shorter ones.
type limits struct {
	connections int

	// How long the service waits for a client, so that a slow one does not hold up others:
	header time.Duration // to send a header
	read   time.Duration // to send a request
	write  time.Duration // to read the answer
	idle   time.Duration // to send another request

	age     time.Duration             // after which, or up to a tenth later, a connection ends with its next call
	leave   time.Duration             // after SIGTERM, for clients to learn of it and connect elsewhere
	wait    func(leave time.Duration) // sleeps for leave
	drain   time.Duration             // then, for calls that are under way
	renewal time.Duration             // between two readings of the configured files
}

var usual = limits{
	connections: 4096,
	header:      5 * time.Second,
	read:        server.ReadTime,
	write:       server.WriteTime,
	idle:        2 * time.Minute,
	age:         15 * time.Minute,
	leave:       3 * time.Second,
	wait:        time.Sleep,
	drain:       3 * time.Second,
	renewal:     time.Minute,
}

const (
	maxStreams  = 100              // calls at a time on one connection
	maxHeader   = 16 << 10         // bytes
	maxReceived = 64 << 10         // bytes of bodies that a connection may send ahead
	maxProbes   = 64               // connections to the listener for probes
	pingTime    = 15 * time.Second // without a byte from an HTTP/2 client, until it gets a ping
	resetRate   = 20               // calls a second that a client of HTTP/2 may give up on a connection
	resetBurst  = 200              // as many at once
)

// newCallServer returns the server for HTTP/1.1 and for HTTP/2, which gRPC uses without TLS too.
func newCallServer(l limits, s *server.Server, logger *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           tended(s.Handler()),
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
			SendPingTimeout:               pingTime, // finds clients that are gone
			WriteByteTimeout:              l.write,  // finds clients that don't read
		},
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			spread := mathrand.N(l.age/10 + 1) // so that connections made together don't end together
			return context.WithValue(ctx, connectionKey{}, &connection{
				Conn:   conn,
				old:    time.Now().Add(l.age + spread),
				resets: rate.NewLimiter(resetRate, resetBurst),
			})
		},
		ConnState: newConnections(l.connections, s.Connected).changed,
		// Debug, as strangers can make TLS handshakes fail at will.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}

// newProbeServer returns the server of the listener for probes, which strangers may ask.
func newProbeServer(l limits, s *server.Server) *http.Server {
	open := newConnections(maxProbes, func(int) {})
	return &http.Server{
		Handler:        s.Probes(),
		ReadTimeout:    l.header,
		WriteTimeout:   l.header,
		IdleTimeout:    l.header,
		MaxHeaderBytes: maxHeader,
		ConnState: func(conn net.Conn, state http.ConnState) {
			// The oldest connection goes, even if it is in use: one with half a request counts as in
			// use, and would keep others out.
			if state == http.StateNew || state == http.StateClosed {
				open.changed(conn, state)
			}
		},
	}
}
