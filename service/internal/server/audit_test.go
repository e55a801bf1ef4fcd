package server

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A disk is a file that can't be written while it is full.
type disk struct {
	buffer
	full atomic.Bool
}

func (d *disk) Write(p []byte) (int, error) {
	if d.full.Load() {
		return 0, errors.New("no space left on device")
	}
	return d.buffer.Write(p)
}

// TestFlood: neither strangers nor principals without rights fill the audit log, with whatever they send.
func TestFlood(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	d := new(disk)
	w.files.Audit = d
	if err := w.Configure(w.setup.Load().config, w.files); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 60_000)
	for range 200 {
		w.call("IDService/Mint", `{"space":"`+long+`"}`)
		w.call("IDService/Mint", `{"space":"`+long+`"}`, as(long[:10_000]))
		w.call("IDService/Mint", `{"space":"`+long+`"}`, as("one"))
		w.send(http.MethodGet, "/metrics", "", as("one"))
	}
	if n := len(d.String()); n > 20_000 || n == 0 {
		t.Errorf("%d bytes of lines because of 800 calls", n)
	}
	if w.Close(); !strings.Contains(d.String(), `"principal":"one","space":"","count":390`) {
		t.Errorf("no line counts the others:\n%s", d)
	}
}

// TestFullDisk: while the audit log can't be written, that is counted and logged; where it is required, nothing is given and the
// service is not ready, until the log can be written again.
func TestFullDisk(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	d := new(disk)
	configure := func(required bool) {
		next := *w.setup.Load().config
		next.AuditRequired, next.AuditMint = required, true
		w.files.Audit = d
		if err := w.Configure(&next, w.files); err != nil {
			t.Fatal(err)
		}
	}
	lost := func() string {
		return regexp.MustCompile(`(?m)^randflaked_audit_lines_lost_total .*$`).FindString(w.send(http.MethodGet, "/metrics", "", as("all")).text)
	}
	configure(false)
	minted := w.send(http.MethodPost, "/v1/spaces/mint/ids?count=3", "", as("web")).body.IDs
	if want := fmt.Sprintf(`"msg":"mint","principal":"web","space":"mint","count":3,"first":"%s","last":"%s"`, minted[0], minted[2]); !strings.Contains(d.String(), want) {
		t.Errorf("no line with %s:\n%s", want, d)
	}
	d.full.Store(true)
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids", "", as("web")); a.status != http.StatusOK || lost() != "randflaked_audit_lines_lost_total 1" || !strings.Contains(w.written.String(), "the audit log can't be written") {
		t.Errorf("IDs: %d %s; %s; log %s", a.status, a.text, lost(), w.written)
	}
	configure(true)
	for _, procedure := range procedures() {
		if a := w.call(procedure, `{"space":"mint"}`, as("web")); a.body.Code != "unavailable" && a.status != http.StatusBadRequest {
			t.Errorf("%s without an audit log: %d %s", procedure, a.status, a.text)
		}
	}
	if a := w.send(http.MethodGet, "/readyz", ""); a.status != http.StatusServiceUnavailable || !strings.Contains(a.text, "audit log") {
		t.Errorf("ready without an audit log: %d %s", a.status, a.text)
	}
	d.full.Store(false)
	for end := time.Now().Add(time.Minute); w.Ready() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not ready a minute after there is room again")
		}
	}
	d.full.Store(true) // and nobody knows yet
	if a := w.send(http.MethodPost, "/v1/spaces/mint/ids", "", as("web")); a.body.Code != "unavailable" {
		t.Errorf("IDs without a line: %d %s", a.status, a.text)
	}
}

// TestStrangers: those who are not known are told nothing about spaces.
func TestStrangers(t *testing.T) {
	w := newTestbed(t, spaces+watchers)
	w.broken.Store(true)
	next := *w.setup.Load().config
	for i := range next.Spaces {
		next.Spaces[i].Nodes = 2 // so that it is opened again
	}
	if err := w.Configure(&next, w.files); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"while spaces are opened", "while it shuts down"} {
		a := w.send(http.MethodGet, "/readyz", "")
		for _, s := range next.Spaces {
			if a.status == http.StatusOK || strings.Contains(a.text, s.Name) {
				t.Errorf("%s: %d %s", when, a.status, a.text)
			}
		}
		w.Drain()
	}
}
