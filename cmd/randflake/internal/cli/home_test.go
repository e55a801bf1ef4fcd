package cli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestFirstUse has many processes start on an empty state directory. All must end up with the same secret and store.
func TestFirstUse(t *testing.T) {
	for kind, racers := range map[string]int{"randflake": 24, "snowflake": 12} {
		dir := isolate(t)
		var group sync.WaitGroup
		var mu sync.Mutex
		var out, errs strings.Builder
		for range racers {
			cmd := process(t, "program", "new", "-n", "500", "--kind", kind)
			group.Go(func() {
				var own strings.Builder
				cmd.Stderr = &own
				ids, err := cmd.Output()
				mu.Lock()
				defer mu.Unlock()
				out.Write(ids)
				errs.WriteString(own.String())
				if err != nil {
					t.Errorf("%v: %s", err, own.String())
				}
			})
		}
		group.Wait()
		if said := errs.String(); strings.Count(said, "made a ") != 1 || strings.Count(said, "\n") != 1 || !strings.Contains(said, filepath.Dir(dir)) {
			t.Errorf("%s: %q, want one that says that it made the store", kind, said)
		}
		distinct := make(map[string]bool)
		for _, line := range strings.Fields(out.String()) {
			distinct[line] = true
		}
		if len(distinct) != 500*racers {
			t.Errorf("%s: %d distinct IDs, want %d", kind, len(distinct), 500*racers)
		}
		if around, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(around) != 1 {
			t.Errorf("left behind: %v, %v", around, err)
		}
		if kind == "randflake" {
			// With another secret than the one that is there, an ID would most likely be of the future.
			succeed(t, out.String(), "inspect", "--from", "text")
			if info, err := os.Stat(filepath.Join(dir, "secret")); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
				t.Errorf("secret: %v, want mode 0600", err)
			}
		}
		succeed(t, "", "new", "--kind", kind)
	}
}

// succeedNoisily is succeed for a call that may say something.
func succeedNoisily(t *testing.T, args ...string) {
	t.Helper()
	if r := call(t, "", args...); r.code != exitOK {
		t.Fatalf("randflake %q: %+v", args, r)
	}
}

// TestRefusals has all that can be wrong with a secret or a store: a clear error, and nothing
// changed.
func TestRefusals(t *testing.T) {
	const secretText = "000102030405060708090a0b0c0d0e0f"
	file := func(name string) func(dir string) string {
		return func(dir string) string { return filepath.Join(dir, name) }
	}
	secret := file("secret")
	for _, c := range []struct {
		name   string
		breaks func(dir string) error
		wanted []string
	}{
		{"no secret", func(dir string) error { return os.Remove(secret(dir)) }, []string{"no such file", "--secret-file", "randflake secret -o"}},
		{"empty secret", func(dir string) error { return os.Truncate(secret(dir), 0) }, []string{"invalid secret", "got 0 characters"}},
		{"short secret", func(dir string) error { return os.WriteFile(secret(dir), []byte(secretText[:31]+"\n"), 0o600) }, []string{"invalid secret", "got 31 characters"}},
		{"long secret", func(dir string) error { return os.WriteFile(secret(dir), []byte(secretText+"00"), 0o600) }, []string{"invalid secret", "got 34 characters"}},
		{"no hexadecimal secret", func(dir string) error { return os.WriteFile(secret(dir), []byte(secretText[:31]+"x"), 0o600) }, []string{"invalid secret"}},
		{"a directory as the secret", func(dir string) error { return errors.Join(os.Remove(secret(dir)), os.Mkdir(secret(dir), 0o700)) }, []string{"is a directory"}},
		{"a secret for everybody", func(dir string) error { return notOnWindows(os.Chmod(secret(dir), 0o644)) }, []string{"0644", "chmod 600"}},
		{"a secret that the group may write", func(dir string) error { return notOnWindows(os.Chmod(secret(dir), 0o660)) }, []string{"0660", "chmod 600"}},
		{"no store", func(dir string) error { return removeStore(t, dir) }, []string{"no store", "randflake lease init --store"}},
		{"truncated store", func(dir string) error { return truncateStore(t, dir) }, []string{"data is corrupt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, implied := range []bool{false, true} {
				dir := isolate(t)
				succeedNoisily(t, "new")
				if err := os.WriteFile(secret(dir), []byte(secretText), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := c.breaks(dir); errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
				before := snapshot(t, dir)
				args := []string{"new", "-n", "3"}
				if !implied {
					args = append(args, "--store", dir)
				}
				r := call(t, "", args...)
				wantFailure(t, r, exitFailed, append(c.wanted, dir)...)
				if strings.Contains(r.err, secretText[:16]) {
					t.Errorf("standard error %q: tells the secret", r.err)
				}
				if !maps.Equal(before, snapshot(t, dir)) {
					t.Error("files were changed")
				}
			}
		})
	}
}

func notOnWindows(err error) error {
	if runtime.GOOS == "windows" {
		return errors.ErrUnsupported
	}
	return err
}

// storeFiles returns the names of the files in dir that are the store's.
func storeFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != "secret" {
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	if len(files) == 0 {
		t.Fatalf("no store in %s", dir)
	}
	return files
}

func removeStore(t *testing.T, dir string) (err error) {
	for _, file := range storeFiles(t, dir) {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

func truncateStore(t *testing.T, dir string) (err error) {
	for _, file := range storeFiles(t, dir) {
		err = errors.Join(err, os.Truncate(file, 7))
	}
	return err
}

func TestSecretCommand(t *testing.T) {
	first, second := succeed(t, "", "secret"), succeed(t, "", "secret")
	if len(first) != 33 || first == second || strings.Trim(first, "0123456789abcdef") != "\n" {
		t.Errorf("%d and %d characters, want different lines of 32 hexadecimal digits", len(first), len(second))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "s")
	if out := succeed(t, "", "secret", "-o", file); out != "" {
		t.Errorf("secret -o prints %d characters", len(out))
	}
	before := snapshot(t, dir)
	if len(before) != 2 || runtime.GOOS != "windows" && !strings.HasPrefix(before[file], "-rw------- ") {
		t.Errorf("secret -o made %d names, or not mode 0600", len(before))
	}
	wantFailure(t, call(t, "", "secret", "-o", file), exitFailed, file, "never overwritten")
	if !maps.Equal(before, snapshot(t, dir)) {
		t.Error("the file was changed")
	}
	wantFailure(t, call(t, "", "secret", "-o", filepath.Join(dir, "none", "s")), exitFailed, "no such file or directory: make the directory", "none first")
}

// TestLeaseInitInStateDir is how one who lost the store gets on.
func TestLeaseInitInStateDir(t *testing.T) {
	dir := isolate(t)
	succeedNoisily(t, "new")
	if err := removeStore(t, dir); err != nil {
		t.Fatal(err)
	}
	if out := succeed(t, "", "lease", "init"); !strings.Contains(out, "first lease starts at") {
		t.Errorf("lease init: %q", out)
	}
	wantFailure(t, call(t, "", "new"), exitFailed, "no lease may start before", "try again from")
}
