package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

// TestWho: the lines tell of each second of a node whose it was, in whichever order they are.
func TestWho(t *testing.T) {
	var lines bytes.Buffer
	log := New(func() (io.Writer, bool) { return &lines, false }, slog.New(slog.DiscardHandler))
	clock := leasetest.NewClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	leases := leasetest.NewMemory(store.DefaultLimits(), clock.Now)
	hold := func(who string, keep time.Duration, giveBack bool) (from, to int64) {
		r, err := leases.Acquire(t.Context(), lease.Request{Nodes: 1, Below: 1, TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		log.Write(Grant, Caller{Principal: who}, "orders", Terms(r)...)
		from = r.Start
		clock.Advance(keep)
		if r, err = leases.Renew(t.Context(), r, lease.Renewal{TTL: time.Minute, Token: lease.NewToken(clock.Now())}); err != nil {
			t.Fatal(err)
		}
		to = r.HighWater
		if giveBack {
			to = clock.Now().Unix()
			if err := leases.Release(t.Context(), r, clock.Now()); err != nil {
				t.Fatal(err)
			}
			log.Write(Release, Caller{Principal: who}, "orders", append(Terms(r), "last_used", to)...)
		}
		clock.Set(time.Unix(r.HighWater+2, 0))
		return from, to
	}
	aFrom, aTo := hold("a", 30*time.Second, true)
	bFrom, bTo := hold("b", 30*time.Second, false)
	log.Write(Grant, Caller{Principal: "c"}, "other", Terms(lease.Record{Start: bFrom})...)
	reversed := strings.Split(strings.TrimSpace(lines.String()), "\n")
	slices.Reverse(reversed)
	for _, text := range []string{lines.String(), strings.Join(reversed, "\n")} {
		for _, tt := range []struct {
			node   uint32
			second int64
			want   string
		}{{0, aFrom - 1, ""}, {0, aFrom, "a"}, {0, aTo, "a"}, {0, aTo + 1, ""}, {0, bFrom, "b"}, {0, bTo, "b"}, {1, aFrom, ""}} {
			maker, found, damaged, err := Who(strings.NewReader(text), "orders", tt.node, tt.second)
			if err != nil || damaged > 0 || found != (tt.want != "") || maker.Principal != tt.want {
				t.Errorf("node %d at %d: %+v, %v, error %v, want %q", tt.node, tt.second, maker, found, err, tt.want)
			}
		}
	}
	for what, more := range map[string]struct {
		text    string
		damaged int
	}{
		"a line that is cut off": {`{"msg":"grant","princ`, 1}, "a long one": {`{"msg":"denial","space":"` + strings.Repeat("x", 1<<20) + `"}`, 0},
		"a long one, cut off": {strings.Repeat("x", 1<<20), 1}, "one of something else": {`{"msg":"lease acquired","start":"now"}`, 0}, "an empty one": {"", 0},
	} {
		maker, found, damaged, err := Who(strings.NewReader(more.text+"\n"+lines.String()+more.text), "orders", 0, aFrom)
		if err != nil || !found || maker.Principal != "a" || damaged != 2*more.damaged {
			t.Errorf("with %s: %+v, %v, %d damaged, error %v", what, maker, found, damaged, err)
		}
	}
}

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
		if _, _, damaged, err := Who(&d.Buffer, "orders", 0, 0); damaged != 1 || err != nil {
			t.Errorf("%d damaged lines, error %v, want the one that was being written", damaged, err)
		}
	})
}

// TestClosed: a line goes to the new file if the old one is closed while it is written.
func TestClosed(t *testing.T) {
	old, err := os.Create(t.TempDir() + "/old")
	if err != nil {
		t.Fatal(err)
	}
	old.Close()
	var lines bytes.Buffer
	files := []io.Writer{old, &lines}
	log := New(func() (io.Writer, bool) { f := files[0]; files = files[len(files)-1:]; return f, false }, slog.New(slog.DiscardHandler))
	if log.Write(Grant, Caller{}, "orders"); !strings.Contains(lines.String(), "orders") || log.Lost.Load() != 0 {
		t.Errorf("%s, %d lost", &lines, log.Lost.Load())
	}
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
