package redis

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/internal/tlsfiles"
)

// Connect returns an engine for a URL. It connects when it is first used.
func Connect(_ context.Context, url string) (*Engine, error) {
	config, options, err := parse(url)
	if err != nil {
		return nil, storeurl.WrapError("redis", err)
	}
	e, err := New(redis.NewClient(options), config)
	if err != nil {
		return nil, err
	}
	e.own = true
	return e, nil
}

// Check finds what is wrong with a URL, as Connect does. It connects to nothing.
func Check(url string) error {
	_, _, err := parse(url)
	return storeurl.WrapError("redis", err)
}

// parse splits a URL into the engine's configuration and the client's. No error shows the password.
func parse(raw string) (Config, *redis.Options, error) {
	u, query, err := storeurl.ParseURL(raw)
	if err != nil {
		return Config{}, nil, err
	}
	c, err := takeConfig(query)
	if err != nil {
		return c, nil, err
	}
	files, err := tlsfiles.Take(query)
	if err != nil {
		return c, nil, err
	}
	u.RawQuery = query.Encode()
	client, err := redis.ParseURL(u.String())
	if err != nil {
		return c, nil, fmt.Errorf("want redis://, rediss:// or unix://: %w", err)
	}
	client.TLSConfig = cmp.Or(files, client.TLSConfig) // files turn TLS on, also in redis://
	client.ContextTimeoutEnabled = true
	return c, client, nil
}

// takeConfig removes the engine's parameters from query, and returns what they say.
func takeConfig(query url.Values) (c Config, err error) {
	c.Prefix = storeurl.TakeParameter(query, "prefix")
	if replicas := storeurl.TakeParameter(query, "replicas"); replicas != "" {
		n, err := strconv.ParseUint(replicas, 10, 16)
		if err != nil {
			return c, fmt.Errorf("replicas=%s: want a number", replicas)
		}
		c.Replicas = int(n)
	}
	c.DurableSettings, err = storeurl.TakeWord(query, "settings", "durable")
	return c, err
}
