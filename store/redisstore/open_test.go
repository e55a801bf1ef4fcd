package redisstore

import (
	"strings"
	"testing"
	"time"
)

func TestURL(t *testing.T) {
	for url, want := range map[string]Config{
		"redis://h":                              {},
		"redis://h/3?prefix=a{b}c":               {Prefix: "a{b}c"},
		"rediss://u:p@h:1?prefix=%7Bx%7D":        {Prefix: "{x}"},
		"redis://h?recovery=trusted&space=x":     {},
		"redis://h?settings=trusted&replicas=2":  {TrustSettings: true, Replicas: 2},
		"redis://h?durability=everysec":          {EverySecond: true},
		"redis://h?replicas=0&read_timeout=1s":   {Replicas: -1},
		"unix://u:p@/run/redis.sock?replicas=00": {Replicas: -1},
	} {
		got, _, options, err := parseURL(url)
		wantOptions := strings.Count(url, "recovery=") + strings.Count(url, "space=")
		if err != nil || got != want || len(options) != wantOptions {
			t.Errorf("%s: %+v, %d options, %v; want %+v, %d", url, got, len(options), err, want, wantOptions)
		}
	}
	_, client, _, err := parseURL("redis://user:word@host:77/3?read_timeout=1s&prefix={p}")
	if err != nil || client.Addr != "host:77" || client.Username != "user" || client.Password != "word" || client.DB != 3 || client.ReadTimeout != time.Second {
		t.Errorf("options %+v, %v", client, err)
	}
}

// TestBadURL: what is wrong is named, and the password never is.
func TestBadURL(t *testing.T) {
	const password = "s3cr3t"
	for url, want := range map[string]string{
		"redis://u:s3cr3t@h?colour=red":                               "colour",
		"redis://u:s3cr3t@h?recovery=no":                              "recovery=no",
		"redis://u:s3cr3t@h?settings=x":                               "settings=x",
		"redis://u:s3cr3t@h?durability=always":                        "durability=always",
		"redis://u:s3cr3t@h?durability=everysec&recovery=trusted":     "recovery=trusted",
		"redis://u:s3cr3t@h?replicas=two":                             "replicas=two",
		"redis://u:s3cr3t@h?replicas=-1":                              "replicas=-1",
		"redis://u:s3cr3t@h?ca=/x":                                    "ca=/x",
		"rediss://u:s3cr3t@h?ca=/nowhere/ca.pem":                      "/nowhere/ca.pem",
		"rediss://u:s3cr3t@h?cert=/nowhere/c.pem&key=/nowhere/k":      "/nowhere/c.pem",
		"redis://u:s3cr3t@h/x":                                        "database",
		"redis://u:1/s3cr3t@h":                                        "@ after the host",
		"redis://u:s3cr3t@h:port":                                     "can't be parsed",
		"redis://u:s3cr3t%zz@h":                                       "can't be parsed",
		"redis://u:s3cr3t@h?a=%zz":                                    "parameters can't be parsed",
		"postgres://u:s3cr3t@h":                                       "scheme",
		"redis://u:s3cr3t@127.0.0.1:1?max_retries=-1&dial_timeout=1s": "refused",
	} {
		_, err := Open(t.Context(), url)
		wantError(t, url, err, nil, want)
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s: error %v shows the password", url, err)
		}
	}
}
