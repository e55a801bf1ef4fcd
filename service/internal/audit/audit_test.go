package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
)

// A disk takes so many bytes, and then fails.
type disk struct {
	mu sync.Mutex
	bytes.Buffer
	room int
}

func (d *disk) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Buffer.String()
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.Buffer.Write(p[:min(len(p), d.room)])
	if d.room -= n; n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

// TestFull: a log that can't be written says so: it counts the lines, tells of it once a minute, and refuses if it is required. Once it
// can be written again, lines are whole, and Ready finds that out by itself.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		d, required := &disk{room: 300}, false
		log := New(func() (io.Writer, bool) { return d, required }, slog.New(slog.NewTextHandler(&said, nil)))
		for i := range 100 {
			if err := log.Write(Grant, Caller{Principal: "a"}, "orders"); err != nil {
				t.Fatalf("line %d: %v, though the log is not required", i, err)
			}
		}
		if lost := log.Lost.Load(); lost < 90 || strings.Count(said.String(), "can't be written") != 1 || log.Ready() != nil {
			t.Errorf("%d lines lost, of 100; logged: %s; ready: %v", lost, &said, log.Ready())
		}
		required = true
		if err := log.Write(Grant, Caller{}, "orders"); connect.CodeOf(err) != connect.CodeUnavailable || log.Ready() == nil {
			t.Errorf("a required log: error %v, ready %v", err, log.Ready())
		}
		before := log.Lost.Load()
		for range 1000 {
			log.Ready()
		}
		if tries := log.Lost.Load() - before; tries > 1 {
			t.Errorf("%d attempts to write within a second", tries)
		}
		time.Sleep(2 * time.Second)
		d.room = 1 << 20
		if err := log.Ready(); err != nil {
			t.Errorf("with room again: %v", err)
		}
		log.Write(Grant, Caller{Principal: "b"}, "orders")
		damaged := 0
		for line := range strings.Lines(d.String()) {
			if !json.Valid([]byte(line)) {
				damaged++
			}
		}
		if damaged != 1 {
			t.Errorf("%d damaged lines, want the one that was being written:\n%s", damaged, d)
		}
	})
}

// TestDenials: nobody fills the log with denials, with whatever names and from however many addresses, and nobody's are forgotten.
func TestDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := &disk{room: 1 << 30}
		log := New(func() (io.Writer, bool) { return lines, false }, slog.New(slog.DiscardHandler))
		long := strings.Repeat("x\x00", 50_000)
		deny := func(n int, by Caller) {
			for range n {
				log.Deny(by, long, "procedure", "IDService/Mint", "why", long)
			}
		}
		deny(1000, Caller{Address: "192.0.2.1:1000", Request: "a"})
		deny(1000, Caller{Principal: "web", Address: "192.0.2.1:1001", Request: "a"})
		for i := range 10_000 {
			deny(1, Caller{Address: fmt.Sprintf("[2001:db8::%x]:1000", i), Request: "b"})
		}
		if n := strings.Count(lines.String(), "\n"); n != 30 || len(lines.String()) > 30*3000 {
			t.Errorf("%d lines, %d bytes, want 10 each of two callers and one network", n, len(lines.String()))
		}
		if !strings.Contains(lines.String(), `"address":"192.0.2.1:1000","request":"a"`) {
			t.Errorf("no address, or no request:\n%s", lines)
		}
		for i := range 100_000 {
			deny(1, Caller{Address: fmt.Sprintf("[2001:db9:%x:%x::1]:1000", i>>8, i&255), Request: "c"})
		}
		if n := strings.Count(lines.String(), "\n"); n > 30+100+10 {
			t.Errorf("%d lines because of many networks", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for _, want := range []string{`"principal":"web","space":"","count":990,"network":"192.0.2.1/32"`, `"principal":"","space":"","count":9990,"network":"2001:db8::/64"`} {
			if !strings.Contains(lines.String(), want) {
				t.Errorf("no line with %s", want)
			}
		}
		before := strings.Count(lines.String(), `"msg":"denial"`)
		deny(1, Caller{Address: "192.0.2.1:1000"})
		if strings.Count(lines.String(), `"msg":"denial"`) != before+1 {
			t.Error("no line of a denial in the next minute")
		}
		log.Flush()
	})
}

// TestFullPipe: a pipe whose reader hangs holds up nobody for long, and is a log that can't be written.
func TestFullPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	log := New(func() (io.Writer, bool) { return w, true }, slog.New(slog.DiscardHandler))
	done := make(chan bool)
	go func() {
		for log.Write(Grant, Caller{Principal: "a"}, strings.Repeat("x", 100)) == nil {
		}
		done <- true
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a line waits for the reader of a full pipe")
	}
	go io.Copy(io.Discard, r)
	for log.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
}
