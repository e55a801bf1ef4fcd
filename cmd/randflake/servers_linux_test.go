package main

import (
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/randflake/randflake/internal/servers"
)

// userPassword is that of the users which tests make. A server may have a user with another one.
const userPassword = "correcthorse"

func startRedis(t *testing.T) string {
	t.Helper()
	server, err := servers.StartRedis(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	if _, err := server.Do("ACL", "SETUSER", "alice", "on", ">"+userPassword, "~*", "&*", "+@all"); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(server.URL(), "://", "://alice:"+userPassword+"@", 1)
}

func startPostgres(t *testing.T) string {
	t.Helper()
	server, err := servers.StartPostgres(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	return server.URL()
}

func startMySQL(t *testing.T) string {
	t.Helper()
	server, err := servers.StartMySQL(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	return server.URL()
}

// startEtcd starts etcd and turns authentication on, which takes a user root.
func startEtcd(t *testing.T) string {
	t.Helper()
	server, err := servers.StartEtcd(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Kill() })
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.UserAdd(t.Context(), "root", userPassword)
	if err == nil {
		_, err = client.UserGrantRole(t.Context(), "root", "root")
	}
	if err == nil {
		_, err = client.AuthEnable(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return "etcd://root:" + userPassword + "@" + server.Addr
}
