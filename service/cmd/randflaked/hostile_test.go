package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// short are bounds after which a test need not wait long.
var short = bounds{connections: 100, header: time.Second, read: time.Second, write: time.Second, idle: time.Second, age: time.Hour}

// dial connects to a service, and has the other end's bytes end the test where there are none for a minute.
func dial(t *testing.T, p *process) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// wantEnd reads what comes, and checks that the service ends the connection.
func wantEnd(t *testing.T, what string, conn net.Conn) string {
	t.Helper()
	answer, err := io.ReadAll(conn)
	if timeout := net.Error(nil); err != nil && asTimeout(err, &timeout) {
		t.Errorf("%s: the connection is open after a minute", what)
	}
	if strings.Contains(string(answer), "500 Internal") || strings.Contains(string(answer), `"internal"`) {
		t.Errorf("%s: %q", what, answer)
	}
	return string(answer)
}

func asTimeout(err error, found *net.Error) bool {
	e, ok := err.(net.Error)
	*found = e
	return ok && e.Timeout()
}

const (
	mintHead = "POST /randflake.v1.IDService/Mint HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	mintMany = mintHead + "Content-Length: 31\r\n\r\n{\"space\":\"demo\",\"count\":65536  }"
)

// TestSlow: clients that send slowly, or part of what they promise, or don't read, are given up, and others served meanwhile.
func TestSlow(t *testing.T) {
	p, client := newDemo(t, short)
	wantIDs(t, p, client)
	client.CloseIdleConnections()
	before := inUse()
	silent, header, body, trickle, deaf := dial(t, p), dial(t, p), dial(t, p), dial(t, p), dial(t, p)
	fmt.Fprint(header, "POST /v1/spaces/demo/ids HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	fmt.Fprint(body, mintHead+"Content-Length: 100\r\n\r\n{")
	fmt.Fprint(trickle, mintHead+"Transfer-Encoding: chunked\r\n\r\n")
	go func() {
		for range 10_000 {
			if _, err := fmt.Fprint(trickle, "1\r\n \r\n"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	deaf.(*net.TCPConn).SetReadBuffer(4096)
	go func() {
		for range 1000 {
			if _, err := fmt.Fprint(deaf, mintMany); err != nil {
				return
			}
		}
	}()
	wantIDs(t, p, client)
	wantEnd(t, "silent", silent)
	wantEnd(t, "half a header", header)
	wantEnd(t, "half a body", body)
	wantEnd(t, "a body byte by byte", trickle)
	client.CloseIdleConnections()
	p.wantNone(t)
	deaf.Close()
	wantIDs(t, p, client)
	client.CloseIdleConnections()
	settle(t, before)
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
	c := &plain2{Conn: dial(t, p)}
	c.Framer = http2.NewFramer(c.Conn, bufio.NewReader(c.Conn))
	c.encoder = hpack.NewEncoder(&c.block)
	io.WriteString(c.Conn, http2.ClientPreface)
	if err := c.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends the header of a call, and not its body.
func (c *plain2) ask(stream uint32) error {
	c.block.Reset()
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/randflake.v1.IDService/Mint"}, {":authority", "localhost"},
		{"content-type", "application/json"}} {
		c.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block.Bytes(), EndHeaders: true})
}

// TestFloods: clients of HTTP/2 that begin calls to cancel them at once, send a header without end, acknowledge nothing, or ask
// for more than they read, are cut off, and others are served.
func TestFloods(t *testing.T) {
	floods := map[string]func(c *plain2) error{
		"rapid reset": func(c *plain2) (err error) {
			for stream := uint32(1); stream < 20_000 && err == nil; stream += 2 {
				if err = c.ask(stream); err == nil {
					err = c.WriteRSTStream(stream, http2.ErrCodeCancel)
				}
			}
			return err
		},
		"header without end": func(c *plain2) (err error) {
			c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0x82}})
			for n := 0; n < 100_000 && err == nil; n++ {
				err = c.WriteContinuation(1, false, []byte("\x00\x01x\x7f\xe1\x00"+strings.Repeat("y", 100)))
			}
			return err
		},
		"settings": func(c *plain2) (err error) {
			for n := 0; n < 200_000 && err == nil; n++ {
				err = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(n)})
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
			p, client := newDemo(t, short)
			wantIDs(t, p, client)
			client.CloseIdleConnections()
			before := inUse()
			c := newPlain2(t, p, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
			if what != "answers that nobody reads" && what != "settings" {
				go io.Copy(io.Discard, c.Conn)
			}
			done := make(chan error, 1)
			go func() { done <- flood(c) }()
			wantIDs(t, p, client)
			client.CloseIdleConnections()
			p.wantNone(t)
			c.Close()
			t.Logf("the flood ended with %v", <-done)
			wantIDs(t, p, client)
			client.CloseIdleConnections()
			settle(t, before)
		})
	}
}

// TestUnread: as many calls on a connection as there may be, each for as many IDs as there may be, whose answers are never
// read, take little memory, and leave room for others.
func TestUnread(t *testing.T) {
	p, client := newDemo(t, usual)
	wantIDs(t, p, client)
	before := runtime.NumGoroutine()
	c := newPlain2(t, p)
	for stream := range uint32(maxStreams) {
		if err := c.ask(2*stream + 1); err != nil {
			t.Fatal(err)
		}
		if err := c.WriteData(2*stream+1, true, []byte(`{"space":"demo","count":65536}`)); err != nil {
			t.Fatal(err)
		}
	}
	for runtime.NumGoroutine() < before+maxStreams {
		time.Sleep(time.Millisecond)
	}
	most := uint64(0)
	for unchanged := 0; unchanged < 10; unchanged++ {
		runtime.GC()
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapAlloc > most+most/50 {
			most, unchanged = m.HeapAlloc, 0
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("%d calls take %d MB", maxStreams, most>>20)
	if most > 50<<20 {
		t.Errorf("%d calls whose answers nobody reads take %d MB", maxStreams, most>>20)
	}
	wantIDs(t, p, client)
}

// TestOversized: what is too large is refused with an error of its own.
func TestOversized(t *testing.T) {
	p, client := newDemo(t, usual)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(bytes.Repeat([]byte(" "), 8<<20))
	z.Close()
	long := strings.Repeat("x", 1<<20)
	for what, tt := range map[string]struct {
		path, body, name, value string
		status                  int
		code                    string
	}{
		"header":         {"/v1/spaces/demo/ids", "", "X-Long", long, 431, ""},
		"URL":            {"/v1/spaces/" + long + "/ids", "", "X", "", 431, ""},
		"name":           {"/v1/spaces/" + long[:10_000] + "/ids", "", "X", "", 404, "not_found"},
		"batch":          {"/v1/spaces/demo/ids?count=65537", "", "X", "", 400, "invalid_argument"},
		"body":           {"/randflake.v1.IDService/Mint", `{"space":"` + long + `"}`, "Content-Type", "application/json", 429, "resource_exhausted"},
		"body, unpacked": {"/randflake.v1.IDService/Mint", bomb.String(), "Content-Encoding", "gzip", 429, "resource_exhausted"},
	} {
		r, err := http.NewRequest(http.MethodPost, p.url+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(tt.name, tt.value)
		a, err := client.Do(r)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != tt.status || !strings.Contains(string(text), tt.code) || len(text) > 1000 {
			t.Errorf("%s: %s %.200s, want %d with code %q", what, a.Status, text, tt.status, tt.code)
		}
	}
}
