package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/randflake/randflake/service/internal/config"
)

// An auditFile is the file of the audit log. It can be opened again after the file was moved away.
type auditFile struct {
	mu   sync.Mutex
	file *os.File // nil for other
	to   io.Writer
}

func (a *auditFile) open(name string, other io.Writer) error {
	var file *os.File
	if name != "" {
		var err error
		if file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		other = file
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil {
		a.file.Close()
	}
	a.file, a.to = file, other
	return nil
}

func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.to.Write(line)
}

// certificates are the server's certificate and the CA of its clients. Both may be replaced while the service runs.
type certificates struct{ current atomic.Pointer[tls.Config] }

func (c *certificates) load(files config.TLS) error {
	pair, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		return fmt.Errorf("tls: certificate and key: %w", err)
	}
	next := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if files.ClientCA != "" {
		pem, err := os.ReadFile(files.ClientCA)
		if err != nil {
			return fmt.Errorf("tls: clientCA: %w", err)
		}
		next.ClientCAs, next.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !next.ClientCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("tls: clientCA: %s has no certificate: want PEM", files.ClientCA)
		}
	}
	c.current.Store(next)
	return nil
}

// config asks for the certificates at each connection.
func (c *certificates) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil }}
}
