package main

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The README's program about leases, word for word, with each of the stores on servers.
func TestReadme(t *testing.T) {
	stores := map[string]string{"redis": "redisstore", "postgres": "pgstore", "mysql": "mysqlstore", "etcd": "etcdstore"}
	eachEngine(t, func(t *testing.T, store string) {
		scheme, err := url.Parse(store)
		if err != nil {
			t.Fatal(err)
		}
		name := stores[scheme.Scheme]
		secret := filepath.Join(t.TempDir(), "secret")
		succeed(t, "lease", "init", "--new-secret", "--store", store, "--secret-file", secret)

		// In this module, as only there the stores can be imported.
		dir, err := os.MkdirTemp(".", "readme-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(readmeProgram(t, name)), 0o600); err != nil {
			t.Fatal(err)
		}
		program := exec.Command("go", "run", "./"+dir)
		program.Env = append(os.Environ(), "STORE="+store, "SECRET_FILE="+secret)
		out, err := program.CombinedOutput()
		if err != nil || len(strings.TrimSpace(string(out))) == 0 {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// readmeProgram returns the program with another store, each of its errors checked.
func readmeProgram(t *testing.T, store string) string {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(readme), "```go\nstore, err := pgstore.Open")
	code, _, closed := strings.Cut(code, "```")
	if !ok || !closed {
		t.Fatal("README has no program that opens a pgstore")
	}
	code = strings.ReplaceAll("store, err := "+store+".Open"+code, "\n", "\ncheck(err)\n")
	return `package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store/` + store + `"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	ctx, url := context.Background(), os.Getenv("STORE")
	text, err := os.ReadFile(os.Getenv("SECRET_FILE"))
	check(err)
	secret, err := randflake.ParseSecret(strings.TrimSpace(string(text)))
	check(err)
	` + code + `
	fmt.Println(id)
}
`
}
