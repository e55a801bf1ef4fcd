package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake/lease/local"
)

// TestRotate: a key is added to the file, then to the store; and what can't be right is refused before anything is changed.
func TestRotate(t *testing.T) {
	dir := newHome(t)
	file := filepath.Join(dir, "secret")
	old := filepath.Join(t.TempDir(), "old")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, old, string(text))
	wantFailure(t, call(t, "", "lease", "rotate", "--store", dir), exitFailed, "randflake secret rotate")
	for _, at := range []string{"soon", "-1h", "2020-01-01T00:00:00Z"} {
		wantFailure(t, call(t, "", "secret", "rotate", "--store", dir, "--at", at), exitUsage, "--at")
	}
	before := time.Now()
	out := succeed(t, "", "secret", "rotate", "--store", dir, "--at", "48h")
	secret, err := local.ReadSecret(file)
	if err != nil {
		t.Fatal(err)
	}
	keys := secret.Keys()
	if len(keys) != 2 || keys[1].From.Before(before.Add(48*time.Hour-time.Second)) || !strings.Contains(out, keys[1].From.Format(time.RFC3339)) {
		t.Fatalf("%q made %v", out, keys)
	}
	wantFailure(t, call(t, "", "lease", "rotate", "--store", dir, "--secret-file", old), exitFailed, "one key")
	for range 2 {
		if out := succeed(t, "", "lease", "rotate", "--store", dir); !strings.Contains(out, "2 keys") {
			t.Errorf("lease rotate: %q", out)
		}
	}
	for _, secret := range []string{file, old} { // which end before the key begins
		id := strings.TrimSpace(succeed(t, "", "new", "--store", dir, "--secret-file", secret))
		succeed(t, "", "inspect", "--store", dir, id)
	}
	acquire(t, dir)
	write(t, file, string(text))
	succeed(t, "", "secret", "rotate", "--store", dir, "--at", "2051-01-01T00:00:00Z")
	wantFailure(t, call(t, "", "lease", "rotate", "--store", dir), exitFailed, "want those of the space first")
}

// TestInspectWithSeveralKeys: an ID opens under the key that made it, be it the newest one or one that makes IDs no more.
func TestInspectWithSeveralKeys(t *testing.T) {
	dir := newHome(t)
	id := strings.TrimSpace(succeed(t, "", "new", "--store", dir))
	want := succeed(t, "", "inspect", "--store", dir, id)
	text, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	const other = "000102030405060708090a0b0c0d0e0f"
	key, file := strings.TrimSpace(string(text)), filepath.Join(t.TempDir(), "several")
	for _, several := range []string{key + "\n" + other + " from 2051-01-01T00:00:00Z", other + "\n" + key + " from 2025-01-01T00:00:00Z"} {
		write(t, file, several)
		if got := succeed(t, "", "inspect", "--secret-file", file, id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	wantFailure(t, call(t, "", "mask", "--secret-file", file, "5"), exitFailed, "several keys")
}
