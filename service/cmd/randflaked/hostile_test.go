package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/service/internal/config"
)

// newDemo starts a service as --dev does, but with probes, and limits for which a test need not
// wait long. It returns a client for it.
func newDemo(t *testing.T, connections int) (*process, *http.Client) {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	dir := filepath.Join(t.TempDir(), "state")
	read := func() (*config.Config, error) {
		c, err := demo(dir, "localhost:0")
		if err == nil {
			c.Probes = "localhost:0"
		}
		return c, err
	}
	p := start(t, read, client, func(b *limits) {
		b.connections = connections
		b.header = time.Second
		b.read = time.Second
		b.write = time.Second
		b.idle = time.Second
	})
	return p, client
}

// wantNone waits until the service has closed all connections, by its metrics.
func (p *process) wantNone(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = "localhost"
		answer := httptest.NewRecorder()
		p.calls.Handler.ServeHTTP(answer, r)
		if strings.Contains(answer.Body.String(), "\nrandflaked_connections 0\n") {
			return
		}
		require.Must(t, !time.Now().After(end), "connections are open after a minute: %s", answer.Body)
	}
}

// Of the calls here:
const (
	mintPath = "/randflake.v1.IDService/Mint"
	mintOne  = `{"space":"demo"}`
)

// wantIDs waits until a client gets IDs. On a slow machine a call may be given up as one of a slow client.
func wantIDs(t *testing.T, p *process, client *http.Client) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		a, err := client.Post(p.url+mintPath, "application/json", strings.NewReader(mintOne))
		if err == nil {
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return
			}
		}
		require.Must(t, !time.Now().After(end), "no IDs: %+v, %v", a, err)
	}
}

// dial connects to an address, for a minute at most: then reads and writes fail.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// TestSlow: clients that send slowly, or part of what they promise, are given up, and others served meanwhile.
func TestSlow(t *testing.T) {
	p, client := newDemo(t, 100)
	calls := p.listener.Addr().String()
	silent, header, body, trickle := dial(t, calls), dial(t, calls), dial(t, calls), dial(t, calls)
	const head = "POST " + mintPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	fmt.Fprint(header, head+"X-Slow: ")
	fmt.Fprint(body, head+"Content-Length: 100\r\n\r\n{")
	fmt.Fprint(trickle, head+"Transfer-Encoding: chunked\r\n\r\n")
	go func() {
		for err := error(nil); err == nil; time.Sleep(10 * time.Millisecond) {
			_, err = fmt.Fprint(trickle, "1\r\n \r\n")
		}
	}()
	silentProbe, headerProbe := dial(t, p.probes.Addr), dial(t, p.probes.Addr)
	bodyProbe, idleProbe := dial(t, p.probes.Addr), dial(t, p.probes.Addr)
	fmt.Fprint(headerProbe, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	fmt.Fprint(bodyProbe, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
	fmt.Fprint(idleProbe, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	wantIDs(t, p, client)
	for what, conn := range map[string]net.Conn{
		"silent":               silent,
		"half a header":        header,
		"half a body":          body,
		"a body byte by byte":  trickle,
		"a silent probe":       silentProbe,
		"half a probe":         headerProbe,
		"half a probe's body":  bodyProbe,
		"a probe, and no more": idleProbe,
	} {
		answer, err := io.ReadAll(conn)
		require.That(t, !errors.Is(err, os.ErrDeadlineExceeded) && !strings.Contains(string(answer), "internal"),
			"%s: %q, %v, want the end of the connection", what, answer, err)
	}
}

// TestCrowd: if strangers have more connections than there may be, idle ones go, others are served, and
// probes are answered. So are they if all connections for probes have sent half of one.
func TestCrowd(t *testing.T) {
	p, client := newDemo(t, 20)
	for range 3 {
		for range 30 {
			dial(t, p.listener.Addr().String())
		}
		client.CloseIdleConnections()
		wantIDs(t, p, client)
		a, err := client.Get("http://" + p.probes.Addr + "/healthz")
		must(t, err)
		a.Body.Close()
	}
	// A whole probe, whose answer says that the half behind it is being read:
	const half = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" +
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
	for range maxProbes {
		conn := dial(t, p.probes.Addr)
		fmt.Fprint(conn, half)
		require.Done(t)(io.ReadFull(conn, make([]byte, 12)))
	}
	for range 20 {
		client.CloseIdleConnections()
		a, err := client.Get("http://" + p.probes.Addr + "/healthz")
		must(t, err)
		a.Body.Close()
	}
	a, err := client.Get("http://" + p.probes.Addr + "/metrics")
	must(t, err)
	a.Body.Close()
	require.Equal(t, a.StatusCode, http.StatusNotFound, "metrics beside probes: %s", a.Status)
}

// A plain2 speaks HTTP/2 without TLS, frame by frame.
type plain2 struct {
	net.Conn
	*http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer
}

func newPlain2(t *testing.T, p *process, settings ...http2.Setting) *plain2 {
	t.Helper()
	c := &plain2{Conn: dial(t, p.listener.Addr().String())}
	c.Framer = http2.NewFramer(c.Conn, bufio.NewReader(c.Conn))
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	io.WriteString(c.Conn, http2.ClientPreface)
	must(t, c.WriteSettings(settings...))
	return c
}

// ask sends the header of a call, and not its body.
func (c *plain2) ask(stream uint32, more ...hpack.HeaderField) error {
	c.block.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: mintPath},
		{Name: ":authority", Value: "localhost"},
		{Name: "content-type", Value: "application/json"},
	}, more...) {
		c.encoder.WriteField(f)
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true})
}

// awaitPing returns once the service has answered a ping, by which it has begun the calls before.
func (c *plain2) awaitPing() error {
	if err := c.WritePing(false, [8]byte{}); err != nil {
		return err
	}
	for {
		frame, err := c.ReadFrame()
		if err != nil {
			return err
		}
		if ping, ok := frame.(*http2.PingFrame); ok && ping.IsAck() {
			return nil
		}
	}
}

// status returns the status of the next answer to any call.
func (c *plain2) status(t *testing.T) string {
	t.Helper()
	for {
		frame, err := c.ReadFrame()
		must(t, err)
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			status := frame.PseudoValue("status")
			if status != "" {
				return status
			}
		case *http2.GoAwayFrame:
			t.Fatal("the connection ends")
		}
	}
}

// TestFloods: clients of HTTP/2 that begin calls to cancel them at once, or ask for more than they read,
// are cut off, and others are served.
func TestFloods(t *testing.T) {
	floods := map[string]func(c *plain2) error{
		"rapid reset": func(c *plain2) (err error) {
			for stream := uint32(1); stream < 2000 && err == nil; stream += 2 {
				err = errors.Join(c.ask(stream), c.awaitPing(), c.WriteRSTStream(stream, http2.ErrCodeCancel))
			}
			return err
		},
		"answers that nobody reads": func(c *plain2) (err error) {
			c.WriteWindowUpdate(0, 1<<30)
			for stream := uint32(1); stream < 200 && err == nil; stream += 2 {
				if err = c.ask(stream); err == nil {
					err = c.WriteData(stream, true, []byte(`{"space":"demo","count":65536}`))
				}
			}
			return err
		},
		"calls without a body": func(c *plain2) (err error) {
			for stream := uint32(1); stream < 2000 && err == nil; stream += 2 {
				err = c.ask(stream)
			}
			return err
		},
	}
	for what, flood := range floods {
		t.Run(what, func(t *testing.T) {
			p, client := newDemo(t, 100)
			c := newPlain2(t, p, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
			if what == "calls without a body" {
				go io.Copy(io.Discard, c.Conn)
			}
			done := make(chan error, 1)
			go func() { done <- flood(c) }()
			wantIDs(t, p, client)
			client.CloseIdleConnections()
			p.wantNone(t)
			c.Close()
			if err := <-done; err == nil && what == "rapid reset" {
				t.Error("its connection was never cut")
			}
			wantIDs(t, p, client)
		})
	}
}

// TestResets: while clients of HTTP/2, with a token or without, begin calls to cancel them at once,
// and connect again when they are cut off, each call of another client is answered.
func TestResets(t *testing.T) {
	store, secret := newPostgres(t)
	text := fmt.Sprintf(`listen: localhost:0
audit: {file: %s}
spaces: [{name: demo, kind: randflake, store: %q, secretFile: %s}]
principals: [{name: greedy, tokenHashes: [%s]}, {name: web, tokenHashes: [%s]}]
rules: [{principals: [greedy, web], spaces: [demo], verbs: [mint]}]
`, filepath.Join(t.TempDir(), "audit"), store, secret, hashOf("greedy"), hashOf("web"))
	c, err := config.Parse("test", []byte(text))
	must(t, err)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	p := start(t, func() (*config.Config, error) { return c, nil }, client)
	mint := func() {
		request, err := http.NewRequest(http.MethodPost, p.url+mintPath, strings.NewReader(mintOne))
		must(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer token-of-web")
		answer, err := client.Do(request)
		must(t, err)
		answer.Body.Close()
		require.Equal(t, answer.StatusCode, http.StatusOK, "a call of another client: status")
	}
	for _, token := range []string{"", "token-of-greedy"} {
		var begun, cut atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var floods sync.WaitGroup
		for range 4 {
			floods.Go(func() {
				for ctx.Err() == nil {
					conn := newPlain2(t, p)
					go io.Copy(io.Discard, conn.Conn)
					for stream := uint32(1); ctx.Err() == nil; stream += 2 {
						err := conn.ask(stream, hpack.HeaderField{Name: "authorization", Value: "Bearer " + token})
						if errors.Join(err, conn.WriteRSTStream(stream, http2.ErrCodeCancel)) != nil {
							cut.Add(1)
							break
						}
						begun.Add(1)
					}
					conn.Close()
				}
			})
		}
		calls := 0
		for ; calls < 30 || cut.Load() < 20 && calls < 5000; calls++ {
			mint()
		}
		stop()
		floods.Wait()
		require.That(t, cut.Load() >= 20, "with token %q: connections were cut %d times", token, cut.Load())
		t.Logf("with token %q: %d calls that were canceled, %d connections that were cut, %d calls answered", token, begun.Load(), cut.Load(), calls)
	}
}

// TestHalfCalls: while a principal has sent half of a thousand calls, more of its calls are
// refused, and those of others served, by the same connection too.
func TestHalfCalls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	read := func() (*config.Config, error) {
		c, err := demo(dir, "localhost:0")
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"greedy", "web"} {
			hash := sha256.Sum256([]byte(name))
			c.Principals = append(c.Principals, config.Principal{Name: name, TokenHashes: []string{hex.EncodeToString(hash[:])}})
		}
		c.Rules = []config.Rule{{Principals: []string{"*"}, Spaces: []string{"demo"}, Verbs: []string{"mint"}}}
		return c, nil
	}
	p := start(t, read, client, func(b *limits) {
		b.read = 5 * time.Minute
		b.write = 5 * time.Minute // which begins with a call's header
	})
	mint := func(who string) int {
		request, err := http.NewRequest(http.MethodPost, p.url+mintPath, strings.NewReader(mintOne))
		must(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+who)
		answer, err := client.Do(request)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	const halves = maxStreams - 1 // so that a connection takes one call more

	// half sends half of each call, and returns how many of them are under way then. The others are refused.
	half := func(c *plain2) (underWay int) {
		for i := range halves {
			must(t, c.ask(uint32(2*i+1),
				hpack.HeaderField{Name: "authorization", Value: "Bearer greedy"},
				hpack.HeaderField{Name: "expect", Value: "100-continue"}))
		}
		for range halves {
			switch status := c.status(t); status {
			case "100":
				underWay++
			case "429":
			default:
				t.Fatalf("half a call: status %s", status)
			}
		}
		return underWay
	}
	all := 0
	for range 11 {
		all += half(newPlain2(t, p))
	}
	require.That(t, all == 1000, "%d calls of a principal are under way, want a thousand", all)
	require.Equal(t, mint("greedy"), http.StatusTooManyRequests, "one call more: status")
	require.Equal(t, mint("web"), http.StatusOK, "a call of another principal: status")

	// As through a proxy, on one connection:
	shared := newPlain2(t, p)
	more := half(shared)
	require.That(t, more == 0, "%d calls over the thousand are under way", more)
	const stream = 2*maxStreams + 1
	must(t, shared.ask(stream, hpack.HeaderField{Name: "authorization", Value: "Bearer web"}))
	must(t, shared.WriteData(stream, true, []byte(mintOne)))
	require.Equal(t, shared.status(t), "200", "a call of another principal on the same connection: status")
}
