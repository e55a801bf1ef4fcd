package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestServerDown has servers that nobody reaches, which takes one line to say.
func TestServerDown(t *testing.T) {
	for _, store := range []string{
		"etcd://u:" + password + "@127.0.0.1:1/?dial-timeout=500ms",
		"etcds://u:" + password + "@127.0.0.1:1/?dial-timeout=500ms",
		"redis://u:" + password + "@127.0.0.1:1",
		"rediss://u:" + password + "@127.0.0.1:1",
		"postgres://u:" + password + "@127.0.0.1:1/d",
		"mysql://u:" + password + "@127.0.0.1:1/d",
	} {
		t.Run(store[:strings.Index(store, ":")], func(t *testing.T) {
			t.Parallel()
			secret := filepath.Join(t.TempDir(), "secret")
			fail(t, []string{"lease", "list", "--store", store}, "127.0.0.1:1")
			fail(t, []string{"lease", "init", "--new-secret", "--secret-file", secret, "--store", store}, "127.0.0.1:1")
			if _, err := os.Stat(secret); err == nil {
				t.Error("lease init made a secret before it knew that there is a server")
			}
		})
	}
}

// TestMalformedURLs has passwords with special characters that are not escaped, and URLs that can't be
// parsed at all.
func TestMalformedURLs(t *testing.T) {
	for _, scheme := range []string{"etcd", "etcds", "redis", "rediss", "postgres", "postgresql", "mysql"} {
		for _, rest := range []string{
			"//u:%zz" + password + "@127.0.0.1:1",
			"//u:" + password + "%@127.0.0.1:1/0",
			"//u:" + password + "/x@127.0.0.1:1/0",
			"//u:1/" + password + "@127.0.0.1:1/0",
			"//u:1?" + password + "@127.0.0.1:1/0",
			"//u:1#" + password + "@127.0.0.1:1/0",
			"//u:x/" + password + "@127.0.0.1:1/0",
			"//u:x y" + password + "@127.0.0.1:1/0",
			"//u:" + password + "@[127.0.0.1:1/0",
			"//u:" + password + "@127.0.0.1:port/0",
			"//u:" + password + "@127.0.0.1:1/0?bogus=1",
			"//u:" + password + "@127.0.0.1:1/0?a=%zz",
			"//u:" + password + "@127.0.0.1:1/0\x7f",
			":u:" + password + "@127.0.0.1:1/0",
			"/u:" + password + "@127.0.0.1:1/0",
		} {
			fail(t, []string{"lease", "list", "--store", scheme + ":" + rest})
		}
	}
}

func TestLeaseDDL(t *testing.T) {
	for args, want := range map[string]string{
		"":            "randflake",
		"--schema s1": "s1",
		"--store postgres://u:" + password + "@h/d?schema=s2": "s2",
		"--store postgresql://u@h/d?schema=s3":                "s3",
	} {
		out := succeed(t, append([]string{"lease", "ddl"}, strings.Fields(args)...)...)
		if !strings.Contains(strings.ToUpper(out), "CREATE TABLE") || !strings.Contains(out, want) {
			t.Errorf("lease ddl %s: %q, want tables in %s", args, out, want)
		}
	}
	fail(t, []string{"lease", "ddl", "--store", "redis://u:" + password + "@h"}, "want postgres://")
	fail(t, []string{"lease", "ddl", "--store", "postgres://u:" + password + "@h?schema=%zz"}, "special characters encoded")
	fail(t, []string{"lease", "ddl", "--store", "postgres://u:" + password + "@h?shcema=s"}, `unknown parameter "shcema"`)
}
