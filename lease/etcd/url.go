package etcd

import (
	"cmp"
	"context"
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

	"github.com/randflake/randflake/lease/internal/storeurl"
)

// Connect returns an engine for a URL. If the URL has a password, the cluster checks it now, within ctx.
func Connect(ctx context.Context, url string) (*Engine, error) {
	config, prefix, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("etcd", err)
	}
	// The client lives on when ctx is done, but what it does before that must not.
	life, end := context.WithCancel(context.Background())
	defer context.AfterFunc(ctx, end)()
	config.Context = life
	client, err := clientv3.New(config)
	if err != nil {
		err = errors.Join(ctx.Err(), err)
		return nil, fmt.Errorf("etcd: connect to %s: %w", strings.Join(config.Endpoints, ","), err)
	}
	e, err := New(client, Config{Prefix: prefix})
	if err != nil {
		client.Close()
		return nil, err
	}
	e.own = true
	return e, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, err := parse(url)
	return storeurl.WrapError("etcd", err)
}

// parse splits etcd://user:password@host:port,host:port/?parameter=value. No error shows what may
// be a part of the password, even if that is not encoded as it should be.
func parse(raw string) (c clientv3.Config, prefix string, err error) {
	if err := storeurl.CheckURL(raw); err != nil {
		return c, "", err
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "etcd" && scheme != "etcds" {
		return c, "", errors.New("want etcd://host:2379 or, with TLS, etcds://host:2379")
	}
	// net/url knows no lists of hosts, so they are taken out first.
	end := strings.IndexAny(rest+"/", "/?#")
	at := strings.LastIndexByte(rest[:end], '@') + 1
	user, hosts := rest[:at], rest[at:end]
	path, parameters, _ := strings.Cut(rest[end:], "?")
	query, err := url.ParseQuery(parameters)
	if err != nil || path != "" && path != "/" {
		return c, "", errors.New("want nothing after the hosts but parameters, " +
			"as in /?name=value&name=value: prefix says where the entries are")
	}
	u, err := url.Parse("etcd://" + user + "hosts")
	if err != nil {
		return c, "", errors.New("user and password: percent-encode what is special in them")
	}
	c, prefix, err = configure(query, scheme == "etcds")
	if err != nil {
		return c, "", err
	}
	c.Username = u.User.Username()
	c.Password, _ = u.User.Password()
	if u.User != nil && (c.Username == "" || c.Password == "") {
		return c, "", errors.New("want a user and a password, or neither")
	}
	protocol := "http" + strings.TrimPrefix(scheme, "etcd")
	for i, host := range strings.Split(hosts, ",") {
		address, ok := withPort(host)
		if !ok {
			return c, "", fmt.Errorf("host number %d: want host or host:port, several separated by commas", i+1)
		}
		c.Endpoints = append(c.Endpoints, protocol+"://"+address)
	}
	return c, prefix, nil
}

// withPort returns a host with its port, which is 2379 by default, and whether it is a valid one.
func withPort(host string) (address string, ok bool) {
	u, err := url.Parse("etcd://" + host)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	bare := strings.Contains(u.Hostname(), ":") && host[0] != '[' // an address of IPv6, or two ports
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "2379")), !bare
}

// configure returns the configuration by the parameters of a URL. The client logs nothing, and is
// quick to notice a dead connection and to connect again.
func configure(query url.Values, secure bool) (c clientv3.Config, prefix string, err error) {
	prefix, err = checkPrefix(storeurl.TakeParameter(query, "prefix"))
	if err != nil {
		return c, "", err
	}
	text := cmp.Or(storeurl.TakeParameter(query, "dial-timeout"), "5s")
	timeout, err := time.ParseDuration(text)
	if err != nil || timeout <= 0 {
		return c, "", fmt.Errorf("dial-timeout=%s: want a duration such as 5s", text)
	}
	again := backoff.DefaultConfig
	again.BaseDelay = 100 * time.Millisecond
	again.MaxDelay = 3 * time.Second
	c = clientv3.Config{
		DialTimeout:          timeout,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 5 * time.Second,
		Logger:               zap.NewNop(),
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(interceptor),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: again, MinConnectTimeout: timeout}),
		},
	}
	if secure {
		files := transport.TLSInfo{
			TrustedCAFile: storeurl.TakeParameter(query, "ca"),
			CertFile:      storeurl.TakeParameter(query, "certificate"),
			KeyFile:       storeurl.TakeParameter(query, "key"),
		}
		c.TLS, err = files.ClientConfig()
		if err != nil {
			return c, "", fmt.Errorf("ca, certificate, key: %w", err)
		}
	}
	return c, prefix, storeurl.CheckAllTaken(query, "prefix, dial-timeout or, with etcds://, ca, certificate, key")
}
