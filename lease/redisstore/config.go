package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/randflake/randflake/lease/internal/setup"
)

// A Config says where in Redis a store is and how far Redis is trusted. The zero Config trusts it as
// little as can be. Open and Create read it from the URL.
type Config struct {
	// Prefix begins the names of the store's four keys. It must have a hash tag, as in the default,
	// {randflake}, so that they share a slot of a cluster. URL: prefix=
	Prefix string

	// Replicas is how many replicas must acknowledge each change. 0 stands for one if any is connected
	// when the store is opened, and else for none; below 0 is none. URL: replicas=, 0 for none.
	Replicas int

	// TrustRecovery is the user's word that Redis never comes back from a restart or failover
	// without something that it acknowledged. URL: recovery=trusted
	TrustRecovery bool

	// TrustSettings is the user's word that Redis has the settings that the package's documentation
	// asks for, where CONFIG GET is forbidden. URL: settings=trusted
	TrustSettings bool

	// EverySecond accepts appendfsync everysec. It can't be had together with TrustRecovery.
	// URL: durability=everysec
	EverySecond bool
}

const defaultPrefix = "{randflake}"

// complete returns c with its defaults, or what is wrong with it.
func (c Config) complete() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = defaultPrefix
	}
	_, tag, _ := strings.Cut(c.Prefix, "{")
	if strings.Index(tag, "}") < 1 {
		return c, fmt.Errorf("redisstore: prefix %q: want one with a hash tag, as %s", c.Prefix, defaultPrefix)
	}
	if c.EverySecond && c.TrustRecovery {
		return c, errors.New("redisstore: durability=everysec with recovery=trusted: a restart loses up to a second of changes, so it can't be trusted: drop one of the two")
	}
	return c, nil
}

// keys returns the names that step.lua takes as KEYS.
func (c Config) keys() []string {
	return []string{c.Prefix + ":meta", c.Prefix + ":ranges", c.Prefix + ":ages", c.Prefix + ":released"}
}

// parseURL splits rawURL into what the store and what the client is to know. No error shows the
// password.
func parseURL(rawURL string) (Config, *redis.Options, error) {
	if err := setup.CheckURL(rawURL); err != nil {
		return Config{}, nil, fmt.Errorf("redisstore: %w", err)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error would quote the URL, password and all.
		return Config{}, nil, errors.New("redisstore: malformed URL: want redis://user:password@host:port/db or rediss:// for TLS")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Config{}, nil, errors.New("redisstore: malformed query in the URL: want name=value pairs with & between")
	}
	cfg, err := takeConfig(query)
	if err != nil {
		return Config{}, nil, err
	}
	files := takeFiles(query)
	u.RawQuery = query.Encode()
	opts, err := redis.ParseURL(u.String())
	if err != nil {
		return Config{}, nil, fmt.Errorf("redisstore: URL: %w", err)
	}
	opts.ContextTimeoutEnabled = true
	opts.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return cfg, opts, files.apply(opts.TLSConfig)
}

// takeConfig removes the store's own parameters from query.
func takeConfig(query url.Values) (c Config, err error) {
	c.Prefix = take(query, "prefix")
	for _, word := range []struct {
		name, value string
		flag        *bool
	}{
		{"recovery", "trusted", &c.TrustRecovery},
		{"settings", "trusted", &c.TrustSettings},
		{"durability", "everysec", &c.EverySecond},
	} {
		if !query.Has(word.name) {
			continue
		}
		if got := take(query, word.name); got != word.value {
			return c, fmt.Errorf("redisstore: URL: %s=%s: want %s, or leave it out", word.name, got, word.value)
		}
		*word.flag = true
	}
	if query.Has("replicas") {
		got := take(query, "replicas")
		c.Replicas, err = strconv.Atoi(got)
		if err != nil || c.Replicas < 0 {
			return c, fmt.Errorf("redisstore: URL: replicas=%s: want a number", got)
		}
		if c.Replicas == 0 {
			c.Replicas = -1
		}
	}
	return c.complete()
}

func take(query url.Values, name string) string {
	defer query.Del(name)
	return query.Get(name)
}

// tlsFiles are the paths of PEM files: the authorities to trust instead of the system's, and the client's
// own certificate and key.
type tlsFiles struct{ ca, cert, key string }

func takeFiles(query url.Values) tlsFiles {
	return tlsFiles{take(query, "ca"), take(query, "cert"), take(query, "key")}
}

func (f tlsFiles) apply(to *tls.Config) error {
	if f == (tlsFiles{}) {
		return nil
	}
	if to == nil {
		return errors.New("redisstore: URL: ca, cert and key are for rediss://")
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return fmt.Errorf("redisstore: URL: ca: %w", err)
		}
		to.RootCAs = x509.NewCertPool()
		if !to.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("redisstore: URL: ca: %s: no certificate in it", f.ca)
		}
	}
	if f.cert != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return fmt.Errorf("redisstore: URL: cert and key: %w", err)
		}
		to.Certificates = []tls.Certificate{pair}
	}
	return nil
}
