package etcdstore

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestAuth: a user with no rights beyond the store's prefix is enough, and nobody else gets in.
func TestAuth(t *testing.T) {
	cluster := startCluster(t, 1, nil)
	raw := rawClient(t, cluster.Members[0].Client)
	const password, prefix = "zq/x:j@%?", "/randflake/"
	ctx := t.Context()
	for what, do := range map[string]func() error{
		"root": func() error {
			_, err := raw.UserAdd(ctx, "root", "root")
			if err == nil {
				_, err = raw.UserGrantRole(ctx, "root", "root")
			}
			return err
		},
		"app": func() error {
			_, err := raw.RoleAdd(ctx, "leases")
			if err == nil {
				_, err = raw.RoleGrantPermission(ctx, "leases", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite))
			}
			if err == nil {
				_, err = raw.UserAdd(ctx, "app", password)
			}
			if err == nil {
				_, err = raw.UserGrantRole(ctx, "app", "leases")
			}
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	if _, err := raw.AuthEnable(ctx); err != nil {
		t.Fatal(err)
	}
	as := func(user, password, prefix string) string {
		return "etcd://" + url.UserPassword(user, password).String() + "@" + cluster.Hosts() + "/?dial-timeout=1s&prefix=" + prefix
	}
	s, clock := create(t, as("app", password, prefix))
	held := acquire(t, s, oneMinute)
	held = renew(t, open(t, as("app", password, prefix), clock), held)
	if err := s.Release(ctx, held, noon); err != nil {
		t.Error(err)
	}
	for name, url := range map[string]string{
		"wrong password": as("app", "zqzqxj", prefix),
		"other prefix":   as("app", password, "/elsewhere/"),
		"nobody":         urlOf(cluster, prefix),
	} {
		s, err := Open(ctx, url)
		if err == nil {
			s.Close()
			t.Errorf("%s: connected", name)
			continue
		}
		if strings.Contains(err.Error(), "zq") {
			t.Errorf("%s: error %q shows the password", name, err)
		}
	}
	// A member that restarts forgets the tokens that it gave out; the client asks for another.
	cluster.Stop()
	if err := cluster.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Acquire after a restart", func(ctx context.Context) error {
		_, err := s.Acquire(ctx, oneMinute)
		return err
	})
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := s.List(ctx); err != nil {
		t.Error(err)
	}
}
