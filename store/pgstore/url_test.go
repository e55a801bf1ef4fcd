//go:build linux

package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/randflake/randflake/store"
)

// TestSilentServer: Open fails at a server that accepts connections and says nothing.
func TestSilentServer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	const url = "postgres://app:password@%s/app?sslmode=disable%s"
	if _, err := Open(t.Context(), fmt.Sprintf(url, silent.Addr(), "&connect_timeout=1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open: %v, want %v", err, context.DeadlineExceeded)
	}
	config, _, _, err := parseURL(fmt.Sprintf(url, silent.Addr(), ""))
	if must(t, err); config.ConnConfig.ConnectTimeout != connectTimeout {
		t.Errorf("timeout %v, want %v", config.ConnConfig.ConnectTimeout, connectTimeout)
	}
}

// TestURLErrors: each says what is wrong, and none shows a password.
func TestURLErrors(t *testing.T) {
	server := shared
	u, err := url.Parse(server.URL())
	must(t, err)
	password, _ := u.User.Password()
	for _, tt := range []struct{ url, want string }{
		{"", "want postgres://"},
		{"host=db user=app password=" + password, "want postgres://"},
		{"redis://app:" + password + "@db", "want postgres://"},
		{"postgres://app:" + password + "@db/x?shcema=leases", `unknown parameter "shcema"`},
		{"postgres://app:" + password + "@db/x?work_mem=1GB", `unknown parameter "work_mem"`},
		{"postgres://app:" + password + "@db/x?recovery=yes", "recovery=yes: want recovery=trusted"},
		{"postgres://app:" + password + "@db/x?schema=a$b", `schema "a$b"`},
		{"postgres://app:" + password + "@db/x?password=%ZZ" + password, "encoded"},
		{"postgres://app:" + password + "@db/x?sslmode=sometimes", "sslmode"},
		{"postgres://app:" + password + "@db:port/x", "want postgres://"},
		{"postgres://app:x?" + password + "@db/x", "@ after the host"},
		{"postgres://app:1/" + password + "@db/x", "@ after the host"},
		{"postgres://app:x#" + password + "@db/x", "@ after the host"},
		{"postgres://app@" + password + ":db/x?sslmode=disable", "want postgres://"},
		{"postgres://app:" + password + "/x?pool_max_conns=none", "want postgres://"},
		{"postgres://app:" + password + "@db/x?password=" + password + "&pool_max_conns=none", "pool_max_conns"},
		{strings.Replace(server.URL(), password, password+"-not", 1), "password authentication failed"},
		{strings.Replace(server.URL(), fmt.Sprint(server.Port()), "1", 1), "connect"},
		{newURL(server), "no store"},
	} {
		for name, call := range map[string]func(context.Context, string, ...store.Option) (*store.Space, error){"Open": Open, "Create": Create} {
			if name == "Create" && tt.want == "no store" {
				continue
			}
			_, err := call(t.Context(), tt.url)
			var logged bytes.Buffer
			slog.New(slog.NewJSONHandler(&logged, nil)).Error("opening", "err", err)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %s: error %v, want %q", name, strings.ReplaceAll(tt.url, password, "..."), err, tt.want)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, err)+logged.String(), password) {
				t.Errorf("%s %s: the error shows the password", name, strings.ReplaceAll(tt.url, password, "..."))
			}
		}
	}
	if e := open(t, server.URL()); strings.Contains(e.String(), password) || !strings.Contains(e.String(), fmt.Sprint(server.Port())) {
		t.Errorf("String: %s", e)
	}
}

func TestURLParameters(t *testing.T) {
	pool, config, options, err := parseURL("postgresql://a:b@h1:1,h2:2/d?sslmode=disable&schema=leases-2&pool_max_conns=7&recovery=trusted&space=s&target_session_attrs=read-write&application_name=x%20y+z")
	if err != nil || config.Schema != "leases-2" || len(options) != 2 || pool.MaxConns != 7 || pool.ConnConfig.Host != "h1" || len(pool.ConnConfig.Fallbacks) != 1 || pool.ConnConfig.RuntimeParams["application_name"] != "x y+z" {
		t.Errorf("parsed to %+v, %+v, %v", pool, config, err)
	}
}

func TestSchemaOf(t *testing.T) {
	for url, want := range map[string]string{"postgres://u@h/d": "randflake", "postgres://u@h/d?sslmode=disable&schema=leases-2": "leases-2"} {
		if got, err := SchemaOf(url); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", url, got, err, want)
		}
	}
	for _, url := range []string{"postgres://u@h/d?shcema=s", "redis://h"} {
		if got, err := SchemaOf(url); err == nil {
			t.Errorf("%s: %q, want an error", url, got)
		}
	}
}
