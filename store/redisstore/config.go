package redisstore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/randflake/randflake/store"
)

// A Config says where in Redis the entries are and how far Redis is trusted; the zero Config, as little as can be.
type Config struct {
	// Prefix begins the names of the keys, and has a hash tag, so that they share a slot of a cluster.
	Prefix string // {randflake} if empty. URL: prefix=

	// Replicas is how many replicas must acknowledge each Swap. 0 stands for one if any is connected when
	// the engine is opened, and else for none; below 0 is none. URL: replicas=, 0 for none.
	Replicas int

	TrustSettings bool // do without CONFIG GET. URL: settings=trusted
	EverySecond   bool // accept appendfsync everysec; never with store.TrustRecovery. URL: durability=everysec
}

// parseURL returns what the engine, the client and the store are to know. No error shows the password.
func parseURL(rawURL string) (c Config, client *redis.Options, options []store.Option, err error) {
	if err := store.CheckURL(rawURL); err != nil {
		return c, nil, nil, err
	}
	u, err := url.Parse(rawURL)
	if err != nil { // which shows the password
		return c, nil, nil, errors.New("malformed: want redis://user:password@host:port/db or rediss:// for TLS")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return c, nil, nil, errors.New("malformed query: want name=value pairs with & between")
	}
	if query.Has("durability") && query.Has("recovery") {
		return c, nil, nil, errors.New("durability=everysec with recovery=trusted: a crash loses up to a second, so it can't be trusted: drop one of the two")
	}
	take := func(name string) string { defer query.Del(name); return query.Get(name) }
	word := func(name, want string) bool {
		got := take(name)
		if got != "" && got != want {
			err = fmt.Errorf("%s=%s: want %s, or leave it out", name, got, want)
		}
		return got == want
	}
	c = Config{Prefix: take("prefix"), TrustSettings: word("settings", "trusted"), EverySecond: word("durability", "everysec")}
	if replicas := take("replicas"); replicas != "" {
		n, wrong := strconv.ParseUint(replicas, 10, 16)
		if wrong != nil {
			err = fmt.Errorf("replicas=%s: want a number", replicas)
		}
		c.Replicas = cmp.Or(int(n), -1)
	}
	ca, cert, key := take("ca"), take("cert"), take("key")
	if err == nil {
		options, err = store.TakeOptions(query)
	}
	if u.RawQuery = query.Encode(); err == nil {
		client, err = redis.ParseURL(u.String())
	}
	if err != nil {
		return c, nil, nil, err
	}
	client.ContextTimeoutEnabled = true
	client.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return c, client, options, useFiles(client.TLSConfig, ca, cert, key)
}

// useFiles reads PEM files: the authorities to trust instead of the system's, and the client's certificate.
func useFiles(to *tls.Config, ca, cert, key string) error {
	if ca+cert+key != "" && to == nil {
		return errors.New("ca, cert and key are for rediss://")
	}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		to.RootCAs = x509.NewCertPool()
		if !to.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca: %w", cmp.Or(err, errors.New(ca+": no certificate in it")))
		}
	}
	if cert+key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return fmt.Errorf("cert and key: %w", err)
		}
		to.Certificates = []tls.Certificate{pair}
	}
	return nil
}
