package etcdstore

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseURL(t *testing.T) {
	for _, tt := range []struct {
		url       string
		endpoints []string
		user      string
		password  string
		prefix    string
	}{
		{"etcd://localhost", []string{"http://localhost:2379"}, "", "", "/randflake/"},
		{"etcd://localhost/", []string{"http://localhost:2379"}, "", "", "/randflake/"},
		{"etcd://a:1,b,c:3/?prefix=/x/", []string{"http://a:1", "http://b:2379", "http://c:3"}, "", "", "/x/"},
		{"etcd://a?prefix=x%2Fy/", []string{"http://a:2379"}, "", "", "x/y/"},
		{"etcd://[::1]:5,[fe80::2]/", []string{"http://[::1]:5", "http://[fe80::2]:2379"}, "", "", "/randflake/"},
		{"etcds://a,b:7", []string{"https://a:2379", "https://b:7"}, "", "", "/randflake/"},
		{"etcd://me:p%40ss%2Fw%3Ard@a,b", []string{"http://a:2379", "http://b:2379"}, "me", "p@ss/w:rd", "/randflake/"},
		{"etcd://me:p@ss@a", []string{"http://a:2379"}, "me", "p@ss", "/randflake/"},
	} {
		got, err := parseURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if !slices.Equal(got.client.Endpoints, tt.endpoints) || got.client.Username != tt.user || got.client.Password != tt.password || got.config.Prefix != tt.prefix {
			t.Errorf("%s: %q, user %q, password %q, prefix %q", tt.url, got.client.Endpoints, got.client.Username, got.client.Password, got.config.Prefix)
		}
		if secure := got.client.TLS != nil; secure != strings.HasPrefix(tt.url, "etcds:") {
			t.Errorf("%s: TLS: %v", tt.url, secure)
		}
	}
	got, err := parseURL("etcd://a/?recovery=trusted&dial-timeout=300ms")
	if err != nil || !got.config.TrustRecovery || got.client.DialTimeout != 300*time.Millisecond {
		t.Errorf("parameters: %+v, %v", got, err)
	}
}

func TestBadURL(t *testing.T) {
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
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
		"etcds://a/?cert=/x.pem":          "key",
		"etcds://a/?cert=/x&key=/y":       "cert and key",
		"etcds://a/?ca=/does/not/exist":   "/does/not/exist",
		"etcds://a/?ca=" + junk:           "PEM",
		"etcd://a/#x":                     "path",
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
		"etcd://me:zqxj@a/b":              "path",
	} {
		_, err := Open(t.Context(), url)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "etcdstore: ") {
			t.Errorf("%s: error %v, want one with %q", url, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "zq") || strings.Contains(err.Error(), "xj")) {
			t.Errorf("%s: error %q shows the password", url, err)
		}
	}
}
