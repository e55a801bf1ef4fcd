package server

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// A caller is who a line of the audit log is about, and where.
type caller struct {
	principal string // empty if the caller is not known
	space     string // perhaps a long name of none
	address   string // IP address and port; empty for the service itself
	request   string // ID of the request
}

// An auditLog has a line of JSON for each thing that somebody did, or was denied. No secret, token or key is in a line.
type auditLog struct {
	*slog.Logger
	lost atomic.Uint64 // lines that could not be written
}

// newAuditLog returns a log that passes each line to write, in one call. The logger is told of lines that can't be written, once a minute.
func newAuditLog(write func(line []byte) (int, error), logger *slog.Logger) *auditLog {
	a := &auditLog{}
	report := rate.Sometimes{Interval: time.Minute}
	torn := false // the last line that was written is half of one
	lines := writer(func(line []byte) (int, error) {
		if torn {
			line = append([]byte("\n"), line...)
		}
		n, err := write(line)
		if err != nil && n == 0 {
			n, err = write(line) // as the file may have been closed meanwhile: then another one has replaced it
		}
		torn = err != nil && (torn || n > 0)
		if err != nil {
			lost := a.lost.Add(1)
			report.Do(func() { logger.Error("the audit log can't be written", "lines lost", lost, "error", err) })
		}
		return n, err
	})
	a.Logger = slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{ReplaceAttr: cut}))
	return a
}

type writer func([]byte) (int, error)

func (w writer) Write(line []byte) (int, error) { return w(line) }

// cut shortens values, some of which callers choose, to 200 bytes.
func cut(_ []string, a slog.Attr) slog.Attr {
	if text, ok := a.Value.Any().(string); ok && len(text) > 200 {
		a.Value = slog.StringValue(strings.ToValidUTF8(text[:200], "") + "...")
	}
	return a
}

// add writes a line on what a caller did.
func (a *auditLog) add(what string, by caller, more ...any) {
	more = append([]any{"principal", by.principal, "space", by.space}, more...)
	if by.address != "" {
		more = append(more, "address", by.address, "request", by.request)
	}
	a.Info(what, more...)
}

// openAudit opens the file of the audit log. Without one, lines go to other.
func openAudit(file string, other io.Writer) (io.Writer, error) {
	if file == "" {
		return other, nil
	}
	// A pipe that nobody reads is an error, and does not keep the service waiting.
	const flags = os.O_APPEND | os.O_CREATE | os.O_WRONLY | syscall.O_NONBLOCK
	opened, err := os.OpenFile(file, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit: %w: want a file that can be written, in a directory that exists, or a pipe that is being read", err)
	}
	return opened, nil
}
