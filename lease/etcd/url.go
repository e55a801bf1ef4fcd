package etcd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/randflake/randflake/store"
)

// A target is what a URL says.
type target struct {
	client  clientv3.Config
	prefix  string
	options []store.Option
}

// parseURL takes etcd://user:password@host:port,host:port/?parameter=value apart. No error of it shows
// what may be a part of the password, also not of one that is not encoded as it should be.
func parseURL(raw string) (t target, err error) {
	if err := store.CheckURL(raw); err != nil {
		return t, err
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return t, errors.New("URL: want etcd://host:2379 or, with TLS, etcds://host:2379")
	}
	// net/url knows no lists of hosts, so they are taken out first.
	end := strings.IndexAny(rest+"/", "/?#")
	at := strings.LastIndexByte(rest[:end], '@') + 1
	path, parameters, _ := strings.Cut(rest[end:], "?")
	query, err := url.ParseQuery(parameters)
	if err != nil || path != "" && path != "/" {
		return t, errors.New("URL: want nothing after the hosts but parameters, as in /?name=value&name=value: prefix says where the entries are")
	}
	u, err := url.Parse("etcd://" + rest[:at] + "hosts")
	if err != nil {
		return t, errors.New("URL: user and password: percent-encode what is special in them")
	}
	if err := t.configure(query, scheme == "etcds"); err != nil {
		return t, fmt.Errorf("URL: %w", err)
	}
	t.client.Username = u.User.Username()
	t.client.Password, _ = u.User.Password()
	if u.User != nil && (t.client.Username == "" || t.client.Password == "") {
		return t, errors.New("URL: want a user and a password, or neither")
	}
	for i, host := range strings.Split(rest[at:end], ",") {
		h, err := url.Parse("etcd://" + host)
		if err != nil || h.Hostname() == "" || strings.Contains(h.Hostname(), ":") && host[0] != '[' {
			return t, fmt.Errorf("URL: host number %d: want host or host:port, several separated by commas", i+1)
		}
		t.client.Endpoints = append(t.client.Endpoints, "http"+scheme[len("etcd"):]+"://"+net.JoinHostPort(h.Hostname(), cmp.Or(h.Port(), "2379")))
	}
	return t, nil
}

// configure goes by the parameters. The client is silent, and quick to notice a dead connection and to try again.
func (t *target) configure(query url.Values, secure bool) (err error) {
	if t.options, err = store.TakeOptions(query); err != nil {
		return err
	}
	take := func(name, standard string) string {
		if values := query[name]; len(values) == 1 && values[0] != "" {
			query.Del(name)
			return values[0]
		}
		return standard
	}
	t.prefix = take("prefix", "")
	text := take("dial-timeout", "5s")
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return fmt.Errorf("dial-timeout=%s: want a duration such as 5s", text)
	}
	t.client = clientv3.Config{DialTimeout: timeout, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second, Logger: zap.NewNop()}
	t.client.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(explain), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
		MinConnectTimeout: timeout,
	})}
	if secure {
		if name := take("server-name", ""); name != "" { // gRPC takes it from here, and not from the TLS configuration
			t.client.DialOptions = append(t.client.DialOptions, grpc.WithAuthority(name))
		}
		files := transport.TLSInfo{TrustedCAFile: take("ca", ""), CertFile: take("cert", ""), KeyFile: take("key", "")}
		if t.client.TLS, err = files.ClientConfig(); err != nil {
			return fmt.Errorf("ca, cert, key: %w", err)
		}
	}
	for name := range query {
		return fmt.Errorf("parameter %q: unknown, empty or there twice: want prefix, dial-timeout, space, recovery or, with etcds://, ca, cert, key, server-name", name)
	}
	return nil
}
