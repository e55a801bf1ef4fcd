package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"github.com/randflake/randflake/service/internal/timed"
)

// A caller is whom a line of the audit log is about, and where.
type caller struct {
	principal string // empty if the caller is not known
	space     string // as the caller names it: perhaps a long name of no space
	address   string // IP address and port; empty for the service itself
	request   string // ID of the request
}

// An auditLog has a line of JSON for each lease, for each ID that was opened, for each counter that was set or began
// a period, and for denials up to a quota; for calls that make IDs if the configuration asks. No line has a secret,
// token or key. IDs and numbers of counters are strings, as JavaScript and jq would round them.
type auditLog struct {
	json  *slog.Logger // calls Write for one line after the other
	write func(line []byte) (int, error)
	torn  bool          // the file ends with half a line
	lost  atomic.Uint64 // lines that could not be written

	logger *slog.Logger // is told of lost lines, as often as report allows
	report rate.Sometimes
}

// newAuditLog returns a log that passes each line to write, in one call. It tells the logger of
// lines that can't be written, once a minute.
func newAuditLog(write func(line []byte) (int, error), logger *slog.Logger) *auditLog {
	a := &auditLog{
		write:  write,
		logger: logger,
		report: rate.Sometimes{Interval: time.Minute},
	}
	a.json = slog.New(slog.NewJSONHandler(a, &slog.HandlerOptions{ReplaceAttr: cut}))
	return a
}

// Write takes lines from the log's own handler.
func (a *auditLog) Write(line []byte) (int, error) {
	n, err := a.put(line)
	if err != nil {
		lost := a.lost.Add(1)
		a.report.Do(func() {
			a.logger.Error("the audit log can't be written", "lines lost", lost, "error", err)
		})
	}
	return n, err
}

// put writes a line. If half a line is there, it begins a new one first.
func (a *auditLog) put(line []byte) (n int, err error) {
	if a.torn {
		line = append([]byte("\n"), line...)
	}
	n, err = a.write(line)
	for errors.Is(err, fs.ErrClosed) && n == 0 {
		n, err = a.write(line) // to the file of the new configuration, which has just closed this one
	}
	switch {
	case err == nil:
		a.torn = false
	case n > 0:
		a.torn = true
	}
	return n, err
}

const maxValue = 200 // bytes of a value, as callers choose some of them

// cut shortens long values.
func cut(_ []string, a slog.Attr) slog.Attr {
	if text, _ := a.Value.Any().(string); len(text) > maxValue {
		whole := strings.ToValidUTF8(text[:maxValue], "") // without the half of a character at its end
		a.Value = slog.StringValue(whole + "...")
	}
	return a
}

// add writes a line on what a caller did.
func (a *auditLog) add(what string, by caller, more ...any) {
	more = append([]any{"principal", by.principal, "space", by.space}, more...)
	if by.address != "" {
		more = append(more, "address", by.address, "request", by.request)
	}
	a.json.Info(what, more...)
}

// openAudit opens the file of the audit log.
func openAudit(name string) (*timed.File, error) {
	// Without O_NONBLOCK, a pipe without a reader would keep the service waiting.
	const flags = os.O_APPEND | os.O_CREATE | os.O_WRONLY | syscall.O_NONBLOCK
	file, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: %w: want a file that can be written, in a directory that exists, "+
			"or a pipe that is being read", err)
	}
	return &timed.File{File: file}, nil
}
