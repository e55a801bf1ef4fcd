package etcdstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/randflake/randflake/lease/internal/setup"
)

const (
	defaultPrefix      = "/randflake/"
	defaultPort        = "2379"
	defaultDialTimeout = 5 * time.Second
)

// A target is what a URL says.
type target struct {
	client clientv3.Config
	config Config
}

// parseURL reads etcd://user:password@host:port,host:port/?parameter=value. No error of it shows
// what may be a part of the password, also not of one that is not encoded as it should be.
func parseURL(raw string) (target, error) {
	if err := setup.CheckURL(raw); err != nil {
		return target{}, fmt.Errorf("etcdstore: %w", err)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || scheme != "etcd" && scheme != "etcds" {
		return target{}, errors.New("etcdstore: URL: want etcd://host:2379 or, with TLS, etcds://host:2379")
	}
	// net/url knows no lists of hosts, so they are taken out first.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	at := strings.LastIndexByte(authority, '@') + 1
	u, err := url.Parse("etcd://" + authority[:at] + "hosts" + rest)
	if err != nil {
		return target{}, errors.New("etcdstore: URL: can't be parsed: percent-encode what is special in user, password and parameters")
	}
	if u.Path != "" && u.Path != "/" || u.Fragment != "" {
		return target{}, errors.New("etcdstore: URL: has a path: want none: the parameter prefix says where the store is")
	}
	p, err := parseParameters(u.RawQuery)
	if err != nil {
		return target{}, err
	}
	t, err := p.target(scheme == "etcds")
	if err != nil {
		return target{}, err
	}
	if t.client.Endpoints, err = endpoints(scheme, authority[at:]); err != nil {
		return target{}, err
	}
	if u.User != nil {
		t.client.Username = u.User.Username()
		t.client.Password, _ = u.User.Password()
		if t.client.Username == "" || t.client.Password == "" {
			return target{}, errors.New("etcdstore: URL: want a user and a password, or neither")
		}
	}
	return t, nil
}

// endpoints returns the hosts of a list as the client wants them.
func endpoints(scheme, hosts string) ([]string, error) {
	var list []string
	for i, host := range strings.Split(hosts, ",") {
		u, err := url.Parse("etcd://" + host)
		if err != nil || u.Hostname() == "" || strings.Contains(u.Hostname(), ":") && host[0] != '[' {
			return nil, fmt.Errorf("etcdstore: URL: host number %d: want host or host:port, several separated by commas", i+1)
		}
		port := u.Port()
		if port == "" {
			port = defaultPort
		}
		protocol := map[string]string{"etcd": "http://", "etcds": "https://"}[scheme]
		list = append(list, protocol+net.JoinHostPort(u.Hostname(), port))
	}
	return list, nil
}

// parameters are those of a URL, each given at most once.
type parameters map[string]string

var known = map[string]bool{
	"prefix": true, "recovery": true, "dial-timeout": true,
	"ca": true, "cert": true, "key": true, "server-name": true,
}

func parseParameters(query string) (parameters, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("etcdstore: URL: parameters can't be parsed: want name=value, separated by &")
	}
	p := parameters{}
	for name, list := range values {
		if !known[name] {
			return nil, fmt.Errorf("etcdstore: URL: unknown parameter %q: want prefix, recovery, dial-timeout, ca, cert, key or server-name", name)
		}
		if len(list) > 1 || list[0] == "" {
			return nil, fmt.Errorf("etcdstore: URL: parameter %q: want one value", name)
		}
		p[name] = list[0]
	}
	return p, nil
}

func (p parameters) target(secure bool) (t target, err error) {
	timeout := defaultDialTimeout
	if text := p["dial-timeout"]; text != "" {
		if timeout, err = time.ParseDuration(text); err != nil || timeout <= 0 {
			return t, fmt.Errorf("etcdstore: URL: dial-timeout=%s: want a duration such as 5s", text)
		}
	}
	t.client = clientConfig(timeout)
	if t.config.Prefix, err = checkPrefix(p["prefix"]); err != nil {
		return t, err
	}
	switch word := p["recovery"]; word {
	case "":
	case "trusted":
		t.config.TrustRecovery = true
	default:
		return t, fmt.Errorf("etcdstore: URL: recovery=%s: want recovery=trusted, or nothing", word)
	}
	if secure {
		if name := p["server-name"]; name != "" {
			// gRPC takes it from here, and not from the TLS configuration.
			t.client.DialOptions = append(t.client.DialOptions, grpc.WithAuthority(name))
		}
		t.client.TLS, err = p.tls()
		return t, err
	}
	for _, name := range []string{"ca", "cert", "key", "server-name"} {
		if p[name] != "" {
			return t, fmt.Errorf("etcdstore: URL: parameter %q is for TLS: want etcds://", name)
		}
	}
	return t, nil
}

// checkPrefix returns the prefix to use.
func checkPrefix(prefix string) (string, error) {
	if prefix == "" {
		return defaultPrefix, nil
	}
	if !strings.HasSuffix(prefix, "/") {
		return "", fmt.Errorf("etcdstore: prefix %q: want a slash at the end", prefix)
	}
	return prefix, nil
}

// tls reads the files that the parameters name.
func (p parameters) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if name := p["ca"]; name != "" {
		pem, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("etcdstore: URL: ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("etcdstore: URL: ca: %s: no certificate in PEM format", name)
		}
	}
	if (p["cert"] == "") != (p["key"] == "") {
		return nil, errors.New("etcdstore: URL: want both cert and key, or neither")
	}
	if p["cert"] != "" {
		pair, err := tls.LoadX509KeyPair(p["cert"], p["key"])
		if err != nil {
			return nil, fmt.Errorf("etcdstore: URL: cert and key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
