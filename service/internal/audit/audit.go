// Package audit writes who got what, a line of JSON each. No secret, token or key is in a line; a lease goes by the first
// digits of a hash of its owner's token.
package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/time/rate"

	"github.com/randflake/randflake/lease"
)

// What lines tell of.
const (
	Grant      = "grant"
	Renewal    = "renewal failed"
	Release    = "release"
	Denial     = "denial"
	Denials    = "more denials" // a count, in place of lines of their own
	Inspection = "inspection"
	Mint       = "mint"
	Revocation = "revocation"
	ReportLoss = "report-loss"
	Secret     = "secret given"
	Resumed    = "resumed" // after lines that could not be written
)

// A Caller is who a line is about.
type Caller struct {
	Principal string // empty if the caller is not known
	Address   string // IP address and port; empty for the service itself
	Request   string // ID of the request
}

// A Log writes lines. It is safe for concurrent use.
type Log struct {
	Lost atomic.Uint64 // lines that could not be written

	to     func() (file io.Writer, required bool)
	lines  slog.Handler
	logger *slog.Logger

	failing       atomic.Bool
	broken        bool // a part of a line may be at the end
	retry, report rate.Sometimes

	mu      sync.Mutex
	denials map[source]int
	summary *time.Timer // writes the count of denials
}

// New returns a log that writes each line to the file that a function returns then, in one call. The function reports
// whether calls have to fail while that can't be done. The logger is told of it once a minute at most.
func New(to func() (file io.Writer, required bool), logger *slog.Logger) *Log {
	l := &Log{to: to, logger: logger, retry: rate.Sometimes{Interval: time.Second}, report: rate.Sometimes{Interval: time.Minute}}
	l.lines = slog.NewJSONHandler(writer{l}, &slog.HandlerOptions{ReplaceAttr: cut})
	return l
}

type writer struct{ *Log }

// Write is called for one line at a time. If the file was closed, another one has replaced it.
func (l writer) Write(line []byte) (n int, err error) {
	if l.broken {
		line = append([]byte("\n"), line...)
	}
	for range 3 {
		file, _ := l.to()
		if pipe, ok := file.(interface{ SetWriteDeadline(time.Time) error }); ok { // whose reader may hang
			wait := time.Second
			if l.failing.Load() {
				wait = time.Millisecond
			}
			pipe.SetWriteDeadline(time.Now().Add(wait))
		}
		if n, err = file.Write(line); !errors.Is(err, fs.ErrClosed) {
			break
		}
	}
	l.broken = err != nil
	return n, err
}

// longest is the maximum length of a value in a line, in bytes. Callers choose some of the values.
const longest = 200

// Write writes a line on what a caller did in a space, which may be a long name of none. It fails only if the log is
// required and can't be written; then the caller must not get what the line tells of.
func (l *Log) Write(what string, by Caller, space string, more ...any) error {
	record := slog.NewRecord(time.Now(), slog.LevelInfo, what, 0)
	record.Add(append([]any{"principal", by.Principal, "space", space}, more...)...)
	if by.Address != "" {
		record.Add("address", by.Address, "request", by.Request)
	}
	err := l.lines.Handle(context.Background(), record)
	l.failing.Store(err != nil)
	if err == nil {
		return nil
	}
	n := l.Lost.Add(1)
	l.report.Do(func() { l.logger.Error("the audit log can't be written", "lines lost", n, "error", err) })
	if _, required := l.to(); required {
		return connect.NewError(connect.CodeUnavailable, errors.New("the audit log can't be written: try another replica"))
	}
	return nil
}

// cut shortens a value of a line.
func cut(_ []string, a slog.Attr) slog.Attr {
	if text, ok := a.Value.Any().(string); ok && len(text) > longest {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:longest], "") + "...")
	}
	return a
}

// Ready returns an error while the log is required and can't be written. Once a second it tries that again.
func (l *Log) Ready() error {
	if l.failing.Load() {
		l.retry.Do(func() { l.Write(Resumed, Caller{}, "", "lines lost", l.Lost.Load()) })
	}
	if _, required := l.to(); required && l.failing.Load() {
		return errors.New("the audit log can't be written")
	}
	return nil
}

// Denials can be caused by anybody, as many as they like. So only the first ones of a source get lines of their own.
const (
	denialLines   = 10          // of a source in a window
	denialSources = 100         // that are told apart in a window
	denialWindow  = time.Minute // after which a line says how many more there were
)

// A source is where denied calls come from. One user has all IPv6 addresses of a /64.
type source struct {
	principal, network string
}

// Deny writes a line on a call that was denied, or counts it.
func (l *Log) Deny(by Caller, space string, more ...any) {
	address, _ := netip.ParseAddrPort(by.Address)
	ip := address.Addr().Unmap().WithZone("")
	network, _ := ip.Prefix(min(64, ip.BitLen()))
	from := source{by.Principal, network.String()}
	l.mu.Lock()
	if l.denials == nil {
		l.denials, l.summary = map[source]int{}, time.AfterFunc(denialWindow, l.Flush)
	}
	if _, ok := l.denials[from]; !ok && len(l.denials) >= denialSources {
		from.network = "others"
	}
	l.denials[from]++
	n := l.denials[from]
	l.mu.Unlock()
	if n <= denialLines {
		l.Write(Denial, by, space, more...)
	}
}

// Flush writes how many denials have no line of their own.
func (l *Log) Flush() {
	l.mu.Lock()
	denials := l.denials
	if denials != nil {
		l.summary.Stop()
	}
	l.denials = nil
	l.mu.Unlock()
	for from, n := range denials {
		if n > denialLines {
			l.Write(Denials, Caller{Principal: from.principal}, "", "count", n-denialLines, "network", from.network)
		}
	}
}

// Name returns how a lease goes in lines.
func Name(owner lease.Token) string {
	hash := sha256.Sum256(owner[:])
	return hex.EncodeToString(hash[:6])
}

// Terms are what a line tells of a lease.
func Terms(r lease.Record) []any {
	return []any{"lease", Name(r.Owner), "first_node", r.FirstNode, "last_node", r.LastNode, "start", r.Start, "high_water", r.HighWater, "label", r.Label}
}
