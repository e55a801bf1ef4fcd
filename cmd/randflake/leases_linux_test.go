package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLeasesProgram runs the program of docs/leases.md, which has a directory, with each of the stores on servers.
func TestLeasesProgram(t *testing.T) {
	page, err := os.ReadFile("../../docs/leases.md")
	if err != nil {
		t.Fatal(err)
	}
	program := blocksOf(string(page))[0].code
	stores := map[string]string{"redis": "redisstore", "postgres": "pgstore", "mysql": "mysqlstore", "etcd": "etcdstore", "sqlite": "sqlitestore"}
	eachEngine(t, func(t *testing.T, store string) {
		u, err := url.Parse(store)
		if err != nil {
			t.Fatal(err)
		}
		secret := filepath.Join(t.TempDir(), "secret")
		succeed(t, "lease", "init", "--new-secret", "--store", store, "--secret-file", secret)
		text, err := os.ReadFile(secret)
		if err != nil {
			t.Fatal(err)
		}
		// In this module, as only there the stores can be imported.
		dir, err := os.MkdirTemp(".", "program-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		code := strings.Replace(program, `filestore.Open("leases")`, stores[u.Scheme]+`.Open(context.Background(), os.Getenv("STORE"))`, 1)
		code = strings.Replace(code, "store/filestore", "store/"+stores[u.Scheme], 1)
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", "run", "./"+dir)
		cmd.Env = append(os.Environ(), "STORE="+store, "RANDFLAKE_SECRET="+strings.TrimSpace(string(text)))
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), "\n") < 3 {
			t.Errorf("%v: %s", err, out)
		}
	})
}
