package etcdtest_test

import (
	"context"
	"crypto/x509"
	"net/url"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/randflake/randflake/internal/test/enginetest"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lab/etcd"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcd"
)

// create makes a space, which takes reading and swapping, and closes it.
func create(ctx context.Context, url, space string) error {
	e, err := etcd.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer e.Close()
	_, err = lease.Create(ctx, e, lease.Config{Name: space})
	return err
}

// TestAuth: a user with no rights beyond the prefix is enough, and nobody else gets in.
func TestAuth(t *testing.T) {
	cluster := startCluster(t, 1, nil)
	raw := clientOf(t, cluster)
	ctx := t.Context()
	const password, prefix = "zq/x:j@%?", "/randflake/"
	readWrite := clientv3.PermissionType(clientv3.PermReadWrite)
	done := require.Done(t)
	done(raw.UserAdd(ctx, "root", "root"))
	done(raw.UserGrantRole(ctx, "root", "root"))
	done(raw.RoleAdd(ctx, "ids"))
	done(raw.RoleGrantPermission(ctx, "ids", prefix, clientv3.GetPrefixRangeEnd(prefix), readWrite))
	done(raw.UserAdd(ctx, "app", password))
	done(raw.UserGrantRole(ctx, "app", "ids"))
	done(raw.AuthEnable(ctx))
	as := func(user, password, prefix string) string {
		return "etcd://" + url.UserPassword(user, password).String() + "@" + cluster.Hosts() + "/?prefix=" + prefix
	}
	e := enginetest.Open(t, etcd.Connect, as("app", password, prefix))
	put(t, e, "x", "1")
	for name, url := range map[string]string{
		"wrong password": as("app", "zqzqxj", prefix),
		"other prefix":   as("app", password, "/elsewhere/"),
		"nobody":         urlOf(cluster, prefix),
	} {
		err := create(ctx, url, "x")
		hides := err != nil && !strings.Contains(err.Error(), "zq")
		require.That(t, hides, "%s: error %v, want one that does not show the password", name, err)
	}
	// A member that restarts forgets the tokens that it gave out; the client asks for another.
	cluster.Stop()
	must(t, cluster.Start())
	read(t, e, "x")
}

// certificate returns the files of a new certificate for hosts, each with a port, which is its own authority,
// and of its key.
func certificate(t *testing.T, hosts ...string) (cert, key string) {
	t.Helper()
	info, err := transport.SelfCert(zap.NewNop(), t.TempDir(), hosts, 1, x509.ExtKeyUsageClientAuth)
	must(t, err)
	return info.CertFile, info.KeyFile
}

// TestTLS: the server must prove who it is, and so must the client.
func TestTLS(t *testing.T) {
	serverCert, serverKey := certificate(t, "127.0.0.1:0", "etcd.example:0")
	clientCert, clientKey := certificate(t, "client:0")
	otherCert, otherKey := certificate(t, "127.0.0.1:0")
	cluster := startCluster(t, 1, &etcdtest.TLS{Cert: serverCert, Key: serverKey, CA: clientCert})

	base := "etcds://" + cluster.Hosts() + "/?prefix=/x/"
	known, proof := "&ca="+serverCert, "&certificate="+clientCert+"&key="+clientKey
	require.NoError(t, create(t.Context(), base+known+proof, "a"))
	var wg sync.WaitGroup
	defer wg.Wait()
	for name, tt := range map[string]struct{ url, says string }{
		"unknown authority":           {base + proof, "x509"},
		"wrong authority":             {base + "&ca=" + otherCert + proof, "x509"},
		"no client certificate":       {base + known, ""},
		"client of a stranger":        {base + known + "&certificate=" + otherCert + "&key=" + otherKey, ""},
		"no TLS where the server has": {"etcd://" + cluster.Hosts(), ""},
	} {
		wg.Go(func() {
			require.ErrorSays(t, create(t.Context(), tt.url, "c"), tt.says, "%s", name)
		})
	}
}
