package etcd

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseURL(t *testing.T) {
	for _, tt := range []struct{ url, endpoints, user, password, prefix string }{
		{"etcd://localhost", "http://localhost:2379", "", "", ""},
		{"etcd://localhost/", "http://localhost:2379", "", "", ""},
		{"etcd://a:1,b,c:3/?prefix=/x/", "http://a:1 http://b:2379 http://c:3", "", "", "/x/"},
		{"etcd://a?prefix=x%2Fy/", "http://a:2379", "", "", "x/y/"},
		{"etcd://[::1]:5,[fe80::2]/", "http://[::1]:5 http://[fe80::2]:2379", "", "", ""},
		{"etcds://a,b:7", "https://a:2379 https://b:7", "", "", ""},
		{"etcd://me:p%40ss%2Fw%3Ard@a,b", "http://a:2379 http://b:2379", "me", "p@ss/w:rd", ""},
		{"etcd://me:p@ss@a", "http://a:2379", "me", "p@ss", ""},
	} {
		got, err := parseURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if !slices.Equal(got.client.Endpoints, strings.Fields(tt.endpoints)) || got.client.Username != tt.user || got.client.Password != tt.password || got.prefix != tt.prefix {
			t.Errorf("%s: %q, user %q, password %q, prefix %q", tt.url, got.client.Endpoints, got.client.Username, got.client.Password, got.prefix)
		}
		if secure := got.client.TLS != nil; secure != strings.HasPrefix(tt.url, "etcds:") {
			t.Errorf("%s: TLS: %v", tt.url, secure)
		}
	}
	got, err := parseURL("etcd://a/?recovery=trusted&space=x&dial-timeout=300ms")
	if err != nil || len(got.options) != 2 || got.client.DialTimeout != 300*time.Millisecond {
		t.Errorf("%d options for the store, dial timeout %v, %v", len(got.options), got.client.DialTimeout, err)
	}
}

func TestBadURL(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                "want etcd://",
		"localhost:2379":                  "want etcd://",
		"http://a":                        "want etcd://",
		"etcd://":                         "host",
		"etcd://a,,b":                     "host",
		"etcd://a:x":                      "host number 1",
		"etcd://b,a:1:2":                  "host number 2",
		"etcd://a/path":                   "prefix",
		"etcd://a/?prefix=x":              "slash",
		"etcd://a/?prefix=":               "prefix",
		"etcd://a/?prefix=/a/&prefix=/b/": "prefix",
		"etcd://a/?prefx=/x/":             "prefx",
		"etcd://a/?recovery=yes":          "recovery=trusted",
		"etcd://a/?dial-timeout=5":        "dial-timeout",
		"etcd://a/?dial-timeout=-5s":      "dial-timeout",
		"etcd://a/?ca=/x.pem":             "etcds://",
		"etcds://a/?cert=/x.pem":          "/x.pem",
		"etcds://a/?cert=/x&key=/y":       "/x",
		"etcds://a/?ca=/does/not/exist":   "/does/not/exist",
		"etcd://a/#x":                     "parameters",
		"etcd://a/?x=%zz":                 "parameters",
		"etcd://hixj@a":                   "password",
		"etcd://:zqxj@a":                  "password",
		"etcd://me:zqxj%zz@a":             "percent",
		"etcd://me:zq/xj@a":               "%2F",
		"etcd://me:zq?xj@a":               "%2F",
		"etcd://me:zq#xj@a":               "%2F",
		"etcd://me:zq@x/xj@a":             "%2F",
		"etcd://me:zqxj":                  "host number 1",
		"etcd://me:zqxj@a:x":              "host number 1",
		"etcd://me:zqxj@a/?x=y":           `"x"`,
		"etcd://me:zqxj@a/b":              "parameters",
	} {
		_, err := Open(t.Context(), raw)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "etcdstore: ") {
			t.Errorf("%s: error %v, want one with %q", raw, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "zq") || strings.Contains(err.Error(), "xj")) {
			t.Errorf("%s: error %q shows the password", raw, err)
		}
		if ue := new(url.Error); errors.As(err, &ue) {
			t.Errorf("%s: error wraps one of net/url, which has the whole URL", raw)
		}
	}
}
