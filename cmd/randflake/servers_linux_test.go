package main

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/internal/servers"
)

// userPassword is that of the users which tests make. A server may have a user with another one.
const userPassword = "correcthorse"

// started returns what was started, until the test ends.
func started[S interface{ Kill() error }](t *testing.T, server S, err error) S {
	t.Helper()
	check(t, err)
	t.Cleanup(func() { server.Kill() })
	return server
}

func startRedis(t *testing.T) string {
	t.Helper()
	server, err := servers.StartRedis(t.TempDir())
	_, aclErr := started(t, server, err).Do("ACL", "SETUSER", "alice", "on", ">"+userPassword, "~*", "&*", "+@all")
	check(t, aclErr)
	return strings.Replace(server.URL(), "://", "://alice:"+userPassword+"@", 1)
}

func startPostgres(t *testing.T) string {
	t.Helper()
	server, err := servers.StartPostgres(t.TempDir(), nil)
	return started(t, server, err).URL()
}

func startMySQL(t *testing.T) string {
	t.Helper()
	server, err := servers.StartMySQL(t.TempDir())
	return started(t, server, err).URL()
}

// startEtcd starts etcd and turns authentication on, which takes a user root.
func startEtcd(t *testing.T) string {
	t.Helper()
	server, err := servers.StartEtcd(t.TempDir())
	started(t, server, err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr}})
	check(t, err)
	defer client.Close()
	_, err = client.UserAdd(t.Context(), "root", userPassword)
	if err == nil {
		_, err = client.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = client.AuthEnable(t.Context())
	}
	check(t, err)
	return "etcd://root:" + userPassword + "@" + server.Addr
}
