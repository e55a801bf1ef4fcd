package engine

import (
	"bytes"
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// A Link is the only way from workers to a server: a TCP proxy, which loses or delays what passes, and
// leads to another server after a failover.
type Link struct {
	proxy *toxiproxy.Proxy
}

// A Direction is one of the two in which data passes through a Link.
type Direction string

const (
	Requests Direction = "upstream"
	Replies  Direction = "downstream"
)

// newLink returns a Link to the server at address, open.
func newLink(address string) (*Link, error) {
	l := &Link{}
	return l, l.open("127.0.0.1:0", address)
}

// open makes a proxy that listens at one address and leads to another one.
func (l *Link) open(listen, to string) (err error) {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	// A connection that goes out from this machine may have got the port that was free for a moment.
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		l.proxy = toxiproxy.NewProxy(server, "store", listen, to)
		if err = l.proxy.Start(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("engine: proxy from %s to %s: %w", listen, to, err)
}

// Address returns where workers find the server.
func (l *Link) Address() string { return l.proxy.Listen }

// Lose makes all that is sent in one direction disappear, on connections that stay open.
func (l *Link) Lose(d Direction) error { return l.add("timeout", d, 0) }

// Delay makes all that is sent in one direction arrive later.
func (l *Link) Delay(d Direction, by time.Duration) error { return l.add("latency", d, by) }

func (l *Link) add(kind string, d Direction, by time.Duration) error {
	toxic := fmt.Sprintf(`{"type": %q, "stream": %q, "attributes": {"latency": %d}}`, kind, d, by.Milliseconds())
	if _, err := l.proxy.Toxics.AddToxicJson(bytes.NewBufferString(toxic)); err != nil {
		return fmt.Errorf("engine: %s: %w", toxic, err)
	}
	return nil
}

// Cut ends all connections, and refuses new ones.
func (l *Link) Cut() { l.proxy.Stop() }

// Heal makes the link work again. It cuts the connections, of which some may have lost data.
func (l *Link) Heal() error { return l.Lead(l.proxy.Upstream) }

// Lead cuts all connections, and has new ones lead to the server at address. It takes another proxy for that, as
// this one may wait for ever when it is to remove what delays the data of a connection.
func (l *Link) Lead(address string) error {
	listen := l.proxy.Listen
	l.proxy.Stop()
	return l.open(listen, address)
}

func (l *Link) close() { l.proxy.Stop() }
