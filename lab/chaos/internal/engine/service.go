package engine

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/randflake/randflake/counter"
	"github.com/randflake/randflake/lab/chaos/internal/broken"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/service/client"
)

// space is the name that replicas have for the store.
const space = "chaos"

// A Service is what a worker knows of the replicas. All but the addresses are files, which are read again for each
// connection, or call.
type Service struct {
	Addresses        []string
	CA               string
	Certificate, Key string // or none
	Token            string // or none
}

// Leases returns the leases of the service, as a program has them, or over a connection with a planted bug.
func (s *Service) Leases(bug broken.Bug) (lease.Source, error) {
	options, err := s.options(bug)
	if err != nil {
		return nil, err
	}
	return client.New(space, s.Addresses, options...)
}

// Counters returns the counters of the service, likewise.
func (s *Service) Counters(bug broken.Bug) (*counter.Counters, error) {
	options, err := s.options(bug)
	if err != nil {
		return nil, err
	}
	return client.NewCounters(s.Addresses, options...)
}

func (s *Service) options(bug broken.Bug) ([]client.Option, error) {
	config, err := s.tls()
	if err != nil {
		return nil, err
	}
	options := []client.Option{client.WithHTTPClient(&http.Client{
		Transport: bug.Transport(&http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true})})}
	if s.Token != "" {
		options = append(options, client.WithTokenFrom(func() (string, error) {
			token, err := os.ReadFile(s.Token)
			return strings.TrimSpace(string(token)), err
		}))
	}
	return options, nil
}

// tls returns how connections are made.
func (s *Service) tls() (*tls.Config, error) {
	roots, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(roots) {
		return nil, fmt.Errorf("engine: %s: no certificate", s.CA)
	}
	if s.Certificate != "" {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
			return &pair, err
		}
	}
	return config, nil
}
