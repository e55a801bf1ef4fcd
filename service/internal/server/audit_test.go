package server

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake/service/internal/access"
)

// TestFullDisk: lines that can't be written are counted, and told of once a minute.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := newTrail(func([]byte) (int, error) { return 0, errors.New("no space left on device") }, slog.New(slog.NewTextHandler(&said, nil)))
		for range 100 {
			log.note("take", caller{principal: "a"}, "orders")
		}
		if lost := log.lost.Load(); lost != 100 || strings.Count(said.String(), "can't be written") != 1 {
			t.Errorf("%d lines lost, of 100; logged: %s", lost, &said)
		}
	})
}

// TestDenials: strangers can't fill the log, nor keep those of others out of it.
func TestDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d bytes.Buffer
		s := &Server{usage: access.NewUsage(), audit: newTrail(d.Write, slog.New(slog.DiscardHandler))}
		for range 10_000 {
			s.deny(caller{address: "192.0.2.1:5"}, strings.Repeat("x", 1000), "why", "no token")
		}
		if n := strings.Count(d.String(), "\n"); n != 100 || d.Len() > 50_000 {
			t.Errorf("%d lines, %d bytes", n, d.Len())
		}
		s.deny(caller{principal: "web"}, "orders")
		time.Sleep(time.Minute)
		s.deny(caller{}, "")
		if lines := strings.Split(d.String(), "\n"); !strings.Contains(lines[100], `"principal":"web"`) || len(lines) != 103 {
			t.Errorf("%s", lines[100:])
		}
	})
}
