package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/randflake/randflake/service/internal/config"
)

// settle waits until there are no more goroutines and descriptors than before, give or take some of the tests themselves.
func settle(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		now := inUse()
		if now <= before+8 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines and descriptors, before it were %d", now, before)
		}
	}
}

func inUse() int {
	open, _ := filepath.Glob("/proc/self/fd/*")
	return runtime.NumGoroutine() + len(open)
}

// newDemo starts a service as --dev does, with bounds, and returns a client for it.
func newDemo(t *testing.T, b bounds) (*process, *http.Client) {
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	dir := filepath.Join(t.TempDir(), "state")
	return startWithin(t, b, func() (*config.Config, error) { return demo(dir, "localhost:0") }, client), client
}

// wantIDs waits until a client gets IDs. On a slow machine a call may be given up as one of a slow client.
func wantIDs(t *testing.T, p *process, client *http.Client) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		a, err := client.Post(p.url+"/v1/spaces/demo/ids?count=5", "", nil)
		if err == nil {
			a.Body.Close()
			if a.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("status %s", a.Status)
		}
		if time.Now().After(end) {
			t.Fatalf("no IDs: %v", err)
		}
	}
}

// open returns the number of the service's connections, by its metrics.
func (p *process) open(t *testing.T) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Host = "localhost"
	answer := httptest.NewRecorder()
	p.http.Handler.ServeHTTP(answer, r)
	found := regexp.MustCompile(`\nrandflaked_connections (.*)\n`).FindStringSubmatch(answer.Body.String())
	if found == nil {
		t.Fatalf("no number of connections: %s", answer.Body)
	}
	return found[1]
}

// wantNone waits until the service has closed all connections.
func (p *process) wantNone(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); p.open(t) != "0"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s connections are open after a minute", p.open(t))
		}
	}
}

// TestManyIdle: more connections than there may be, which do nothing, keep nobody out for long, and leave nothing behind.
func TestManyIdle(t *testing.T) {
	p, client := newDemo(t, short)
	wantIDs(t, p, client)
	client.CloseIdleConnections()
	p.wantNone(t)
	before := inUse()
	idle := make([]net.Conn, 2*short.connections)
	for i := range idle {
		idle[i] = dial(t, p)
		if i%4 == 0 { // some are known to be clients
			fmt.Fprintf(idle[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	for most := fmt.Sprint(short.connections); p.open(t) != most; time.Sleep(time.Millisecond) {
	}
	wantIDs(t, p, client)
	client.CloseIdleConnections()
	for _, conn := range idle {
		conn.Close()
	}
	p.wantNone(t)
	settle(t, before)
}
