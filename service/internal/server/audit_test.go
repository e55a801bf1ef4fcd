package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/service/internal/access"
)

// TestFullDisk: lines that can't be written are counted, and told of once a minute. What follows
// half a line is a line.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := newAuditLog(func([]byte) (int, error) { return 0, errors.New("no space left on device") },
			slog.New(slog.NewTextHandler(&said, nil)))
		for range 100 {
			log.add("take", caller{principal: "a", space: "orders"})
		}
		if lost := log.lost.Load(); lost != 100 || strings.Count(said.String(), "can't be written") != 1 {
			t.Errorf("%d lines lost, of 100; logged: %s", lost, &said)
		}
	})
	var file bytes.Buffer
	room := 20
	log := newAuditLog(func(line []byte) (int, error) {
		n, _ := file.Write(line[:min(room, len(line))])
		if room -= n; n < len(line) {
			return n, errors.New("no space left on device")
		}
		return n, nil
	}, slog.New(slog.DiscardHandler))
	for _, freed := range []int{0, 0, 1000, 0} {
		room += freed
		log.add("take", caller{principal: "a"}, "orders")
	}
	if lines := strings.SplitAfter(file.String(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[1], "{") ||
		!strings.HasPrefix(lines[2], "{") || log.lost.Load() != 2 {
		t.Errorf("after half a line, when there is room again: %q, %d lines lost", lines, log.lost.Load())
	}
}

// TestReplacedFile: a line is written to the file that has replaced another one meanwhile, and not twice to one.
func TestReplacedFile(t *testing.T) {
	type result struct {
		n   int
		err error
	}
	for _, tt := range []struct {
		what    string
		results []result
		lost    uint64
	}{
		{"written", []result{{100, nil}}, 0},
		{"closed, and replaced", []result{{0, fs.ErrClosed}, {100, nil}}, 0},
		{"closed, and replaced twice", []result{{0, fs.ErrClosed}, {0, fs.ErrClosed}, {100, nil}}, 0},
		{"half of it written", []result{{50, errors.New("no space left on device")}}, 1},
		{"half of it written, and closed", []result{{50, fs.ErrClosed}}, 1},
		{"closed, and replaced by a full one", []result{{0, fs.ErrClosed}, {0, errors.New("no space left on device")}}, 1},
	} {
		left := tt.results
		log := newAuditLog(func(line []byte) (int, error) {
			if len(left) == 0 {
				t.Errorf("%s: it is written again", tt.what)
				return len(line), nil
			}
			r := left[0]
			left = left[1:]
			return r.n, r.err
		}, slog.New(slog.DiscardHandler))
		log.add("take", caller{principal: "a", space: "orders"})
		require.That(t, log.lost.Load() == tt.lost && len(left) == 0,
			"%s: %d lines lost, want %d; %d writes are not done", tt.what, log.lost.Load(), tt.lost, len(left))
	}
}

// TestHungReader: while a pipe is not read, the log gives up its lines. When it is read again, it has
// the few lines whose writing had begun, and new ones follow. Without a reader lines are lost.
func TestHungReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	reader, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	pipe, err := openAudit(name)
	require.NoError(t, err)
	defer pipe.Close()
	var said bytes.Buffer
	log := newAuditLog(pipe.Write, slog.New(slog.NewTextHandler(&said, nil)))
	for i := range 800 { // of which a pipe holds some 400
		log.add("take", caller{principal: "a"}, "text", strings.Repeat("x", 100), "n", i)
	}
	lost := log.lost.Load()
	require.That(t, lost != 0 && lost != 800 && strings.Contains(said.String(), os.ErrDeadlineExceeded.Error()),
		"%d lines lost; logged: %s", lost, &said)

	const begun = 4 // counted as lost, and written all the same
	reader.SetReadDeadline(time.Now().Add(time.Minute))
	lines := bufio.NewScanner(reader)
	for i := range 800 - lost + begun {
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), fmt.Sprintf(`"n":%d}`, i)) {
			t.Fatalf("line %d, when %d are lost, is %q, error %v", i, lost, lines.Text(), lines.Err())
		}
	}
	log.add("again", caller{})
	for log.lost.Load() > lost { // what was just read may still count as being written
		lost = log.lost.Load()
		log.add("again", caller{})
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), `"msg":"again"`) {
		t.Errorf("the line after those is %q, error %v", lines.Text(), lines.Err())
	}

	reader.Close()
	log.add("take", caller{})
	require.Equal(t, log.lost.Load(), lost+1, "lines lost once nobody reads any more")
}

// TestLines: a line has who did what where, and no value of more than 200 bytes, nor half a character.
func TestLines(t *testing.T) {
	var written bytes.Buffer
	log := newAuditLog(written.Write, slog.New(slog.DiscardHandler))
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		by   caller
		more []any
		want string
	}{
		{caller{principal: "a", space: "orders"}, []any{"n", 7}, `"principal":"a","space":"orders","n":7}`},
		{caller{"a", "orders", "192.0.2.1:5", "id"}, nil, `"principal":"a","space":"orders","address":"192.0.2.1:5","request":"id"}`},
		{caller{principal: "a", space: "orders"}, []any{"text", long}, `"text":"` + long + `"}`},
		{caller{principal: "a", space: "orders"}, []any{"text", long + "y"}, `"text":"` + long + `..."}`},
		{caller{principal: "a", space: "orders"}, []any{"text", long[1:] + "é"}, `"text":"` + long[1:] + `..."}`},
	} {
		written.Reset()
		log.add("take", tt.by, tt.more...)
		if line := strings.TrimSpace(written.String()); !strings.Contains(line, `"msg":"take",`) || !strings.HasSuffix(line, tt.want) {
			t.Errorf("%s, want %s", line, tt.want)
		}
	}
}

// TestDenials: strangers can't fill the log, nor keep those of others out of it.
func TestDenials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d bytes.Buffer
		s := &Server{usage: newUsage(), audit: newAuditLog(d.Write, slog.New(slog.DiscardHandler))}
		for range 10_000 {
			s.deny(&call{caller: caller{space: strings.Repeat("x", 1000), address: "192.0.2.1:5"}}, connect.CodeUnauthenticated, access.ErrUnknown)
		}
		n := strings.Count(d.String(), "\n")
		require.That(t, n == 100 && d.Len() <= 50_000, "%d lines, %d bytes", n, d.Len())
		s.deny(&call{caller: caller{principal: "web"}}, connect.CodePermissionDenied, access.ErrDenied)
		time.Sleep(30 * time.Second) // in which strangers earn five lines
		for range 100 {
			s.deny(&call{}, connect.CodeUnauthenticated, access.ErrUnknown)
		}
		if lines := strings.Split(d.String(), "\n"); !strings.Contains(lines[100], `"principal":"web"`) || len(lines) != 107 {
			t.Errorf("%s", lines[100:])
		}
	})
}
