// Package audit writes who got what: log lines of JSON in a file of their own. No secret, token or key is in a line.
package audit

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// What lines tell of.
const (
	Take       = "take" // of nodes: the space, the window and the node of an ID name its line
	Denial     = "denial"
	Inspection = "inspection"
	Mint       = "mint"
	Set        = "set counter"
	ReportLoss = "report-loss"
	Secret     = "secret given"
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

	lines  slog.Handler
	logger *slog.Logger
	report rate.Sometimes

	mu      sync.Mutex
	denials map[string]*denials
}

// denials are those of a principal, or of all who are not known: anybody can cause as many as they like, so a minute has ten lines
// after the first hundred, and the next line says how many were left out.
type denials struct {
	limit   *rate.Limiter
	leftOut int
}

// New returns a log that writes each line to the file that a function returns then, in one call. The logger is told once a minute
// of lines that can't be written.
func New(to func() io.Writer, logger *slog.Logger) *Log {
	l := &Log{logger: logger, report: rate.Sometimes{Interval: time.Minute}, denials: map[string]*denials{}}
	l.lines = slog.NewJSONHandler(file(to), &slog.HandlerOptions{ReplaceAttr: cut})
	return l
}

type file func() io.Writer

// Write is called for one line at a time. If the file was closed meanwhile, another one has replaced it.
func (to file) Write(line []byte) (n int, err error) {
	if n, err = to().Write(line); err != nil && n == 0 {
		n, err = to().Write(line)
	}
	return n, err
}

// longest is the maximum length of a value in a line, in bytes. Callers choose some of the values.
const longest = 200

func cut(_ []string, a slog.Attr) slog.Attr {
	if text, ok := a.Value.Any().(string); ok && len(text) > longest {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:longest], "") + "...")
	}
	return a
}

// Write writes a line on what a caller did in a space, which may be a long name of none.
func (l *Log) Write(what string, by Caller, space string, more ...any) {
	record := slog.NewRecord(time.Now(), slog.LevelInfo, what, 0)
	record.Add("principal", by.Principal, "space", space)
	record.Add(more...)
	if by.Address != "" {
		record.Add("address", by.Address, "request", by.Request)
	}
	if err := l.lines.Handle(context.Background(), record); err != nil {
		n := l.Lost.Add(1)
		l.report.Do(func() { l.logger.Error("the audit log can't be written", "lines lost", n, "error", err) })
	}
}

// Deny writes a line on a call that was denied, or counts it.
func (l *Log) Deny(by Caller, space string, more ...any) {
	l.mu.Lock()
	d := l.denials[by.Principal]
	if d == nil {
		d = &denials{limit: rate.NewLimiter(rate.Every(6*time.Second), 100)}
		l.denials[by.Principal] = d
	}
	if !d.limit.Allow() {
		d.leftOut++
		l.mu.Unlock()
		return
	}
	if d.leftOut > 0 {
		more = append(more, "left_out", d.leftOut)
	}
	d.leftOut = 0
	l.mu.Unlock()
	l.Write(Denial, by, space, more...)
}
