package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/randflake/randflake/lease"
)

func TestURL(t *testing.T) {
	for url, want := range map[string]Config{
		"redis://h":                              {Prefix: "{randflake}"},
		"redis://h/3?prefix=a{b}c":               {Prefix: "a{b}c"},
		"rediss://u:p@h:1?prefix=%7Bx%7D":        {Prefix: "{x}"},
		"redis://h?recovery=trusted":             {Prefix: "{randflake}", TrustRecovery: true},
		"redis://h?settings=trusted&replicas=2":  {Prefix: "{randflake}", TrustSettings: true, Replicas: 2},
		"redis://h?durability=everysec":          {Prefix: "{randflake}", EverySecond: true},
		"redis://h?replicas=0&read_timeout=1s":   {Prefix: "{randflake}", Replicas: -1},
		"unix://u:p@/run/redis.sock?replicas=-0": {Prefix: "{randflake}", Replicas: -1},
	} {
		got, _, err := parseURL(url)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", url, got, err, want)
		}
	}
	_, opts, err := parseURL("redis://user:word@host:77/3?read_timeout=1s&prefix={p}")
	if err != nil || opts.Addr != "host:77" || opts.Username != "user" || opts.Password != "word" || opts.DB != 3 || opts.ReadTimeout != time.Second {
		t.Errorf("options %+v, %v", opts, err)
	}
}

// TestBadURL: what is wrong is named, and the password never is.
func TestBadURL(t *testing.T) {
	const password = "s3cr3t"
	for url, want := range map[string]string{
		"redis://u:s3cr3t@h?colour=red":                               "colour",
		"redis://u:s3cr3t@h?recovery=no":                              "recovery=no",
		"redis://u:s3cr3t@h?recovery=":                                "recovery=",
		"redis://u:s3cr3t@h?settings=x":                               "settings=x",
		"redis://u:s3cr3t@h?durability=always":                        "durability=always",
		"redis://u:s3cr3t@h?durability=everysec&recovery=trusted":     "recovery=trusted",
		"redis://u:s3cr3t@h?replicas=two":                             "replicas=two",
		"redis://u:s3cr3t@h?replicas=-1":                              "replicas=-1",
		"redis://u:s3cr3t@h?prefix=x":                                 "hash tag",
		"redis://u:s3cr3t@h?prefix={}":                                "hash tag",
		"redis://u:s3cr3t@h?ca=/x":                                    "rediss",
		"rediss://u:s3cr3t@h?ca=/nowhere/ca.pem":                      "/nowhere/ca.pem",
		"rediss://u:s3cr3t@h?cert=/nowhere/c.pem&key=/nowhere/k":      "cert and key",
		"redis://u:s3cr3t@h/x":                                        "database",
		"redis://u:1/s3cr3t@h":                                        "@ after the host",
		"redis://u:1?prefix=s3cr3t@h":                                 "@ after the host",
		"redis://u:1#s3cr3t@h":                                        "@ after the host",
		"redis://u:s3cr3t@h:port":                                     "malformed URL",
		"redis://u:s3cr3t%zz@h":                                       "malformed URL",
		"redis://u:s3cr3t@h?a=%zz":                                    "malformed query",
		"postgres://u:s3cr3t@h":                                       "scheme",
		"redis://u:s3cr3t@127.0.0.1:1?max_retries=-1&dial_timeout=1s": "refused",
	} {
		_, err := Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), password) {
			t.Errorf("%s: error %v, want one about %q", url, err, want)
		}
	}
}

func TestOptions(t *testing.T) {
	for name, opt := range map[string]Option{"nil": nil, "nil clock": WithClock(nil), "no rules": WithRules(lease.Rules{})} {
		if _, err := Create(t.Context(), newPlace(), opt); err == nil {
			t.Errorf("Create with %s: no error", name)
		}
	}
	url := newPlace()
	create(t, url)
	for name, opt := range map[string]Option{"nil": nil, "rules": WithRules(testRules), "new secret": ForNewSecret()} {
		if _, err := Open(t.Context(), url, opt); err == nil {
			t.Errorf("Open with %s: no error", name)
		}
	}
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	if _, err := New(t.Context(), ring, Config{}); err == nil || !strings.Contains(err.Error(), "Ring") {
		t.Errorf("New on a ring: error %v, want one that names it", err)
	}
}
