package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/randflake/randflake/service/internal/access"
	"github.com/randflake/randflake/service/internal/config"
	"github.com/randflake/randflake/service/internal/server"
)

// load reads and opens the files that a configuration names. Without a file for it, the audit log goes to other.
func load(c *config.Config, other io.Writer) (files server.Files, err error) {
	files.TLS = new(tls.Config)
	if c.TLS != nil {
		files.TLS, err = certificates(*c.TLS)
		if err != nil {
			return files, err
		}
	}
	files.Audit = struct{ io.Writer }{other} // which stays open
	if c.Audit != "" {
		// A pipe that nobody reads is an error, and does not keep the service waiting.
		const flags = os.O_APPEND | os.O_CREATE | os.O_WRONLY | syscall.O_NONBLOCK
		files.Audit, err = os.OpenFile(c.Audit, flags, 0o600)
		if err != nil {
			return files, fmt.Errorf("audit: %w: want a file that can be written, in a directory that exists, or a pipe that is being read", err)
		}
	}
	return files, nil
}

// A timedWriter gives up on a line after a second, because the reader of standard error may hang, or at once if some are being
// written already.
type timedWriter struct {
	io.Writer
	pending atomic.Int32 // lines that are being written
}

func (w *timedWriter) Write(line []byte) (int, error) {
	if w.pending.Add(1) > 4 { // which is more than there are logs
		w.pending.Add(-1)
		return 0, os.ErrDeadlineExceeded
	}
	done := make(chan error, 1)
	go func(line []byte) {
		_, err := w.Writer.Write(line)
		w.pending.Add(-1)
		done <- err
	}(bytes.Clone(line))
	select {
	case err := <-done:
		return len(line), err
	case <-time.After(time.Second):
		return 0, os.ErrDeadlineExceeded
	}
}

// certificates reads the server's certificate, and those of the authorities of its clients.
func certificates(files config.TLS) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: certificate and key: %w", err)
	}
	c := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if files.ClientCA != "" {
		c.ClientAuth = tls.VerifyClientCertIfGiven
		c.ClientCAs, err = access.Authorities(files.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls: clientCA: %w", err)
		}
	}
	return c, nil
}
