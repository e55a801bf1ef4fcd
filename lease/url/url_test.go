package url

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/storeurl"
	"github.com/randflake/randflake/lease/local"
)

func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("AWS_ACCESS_KEY_ID", "test") // or the SDK would look for a role of this machine
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for _, n := range storeurl.Names() {
		got, _, err := Parse(n.Name)
		_, openErr := Open(t.Context(), n.Name, lease.Config{})
		var createErr error
		if n.Dir == "" {
			_, createErr = Create(t.Context(), n.Name, lease.Config{})
		}
		if n.Wrong == "" && (err != nil || got.String() != n.Dir+n.URL || got.Dir != n.Dir || openErr == nil) {
			t.Errorf("%s: %+v, %v, opened with %v", n.Name, got, err, openErr)
		}
		for _, err := range []error{err, openErr, createErr} {
			if n.Wrong != "" && (err == nil || !strings.Contains(err.Error(), n.Wrong)) {
				t.Errorf("%s: %v, want %q", n.Name, err, n.Wrong)
			}
		}
		if said := fmt.Sprint(got, err, openErr, createErr); strings.Contains(said, storeurl.Password) {
			t.Errorf("%s: %s", n.Name, said)
		}
		if n.Name = Redact(n.Name); n.URL != "" && strings.Contains(n.Name, storeurl.Password) {
			t.Errorf("redacted: %s", n.Name)
		}
	}
}

// TestWindowsDrive has a name with a colon that is a directory.
func TestWindowsDrive(t *testing.T) {
	for _, name := range []string{`C:\leases`, "c:leases"} {
		if l, _, err := Parse(name); err != nil || l.Dir != name {
			t.Errorf("%+v, %v", l, err)
		}
	}
}

// TestSchemes has an engine for each scheme that the root module knows.
func TestSchemes(t *testing.T) {
	for _, scheme := range Schemes() {
		l, err := storeurl.ParseLocation(strings.ToUpper(scheme) + ":///x")
		if _, known := engines[l.Engine()]; err != nil || !known {
			t.Errorf("%s: engine %q, %v", scheme, l.Engine(), err)
		}
	}
}

func TestDirectory(t *testing.T) {
	name := "file:" + filepath.Join(t.TempDir(), "leases")
	if _, err := Open(t.Context(), name, lease.Config{}); !errors.Is(err, lease.ErrNoSpace) {
		t.Errorf("%v, want %v", err, lease.ErrNoSpace)
	}
	made, err := Create(t.Context(), name, lease.Config{New: true})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	opened, err := Open(t.Context(), name, lease.Config{})
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
}

func TestSpace(t *testing.T) {
	for url, want := range map[string][2]string{
		"etcd://h/":                             {"etcd://h/", ""},
		"etcd://h/?space=ids":                   {"etcd://h/", "ids"},
		"etcd://h/?prefix=%2Fa&space=ids&ca=ca": {"etcd://h/?prefix=%2Fa&ca=ca", "ids"},
		"sqlite:a.db?myspace=x":                 {"sqlite:a.db?myspace=x", ""},
		"etcd://h/?space=":                      {},
		"etcd://h/?space=a&space=b":             {},
	} {
		if rest, space, err := takeSpace(url); rest != want[0] || space != want[1] || errors.Is(err, lease.ErrInvalid) != (rest == "") {
			t.Errorf("%s: %s and %s, %v", url, rest, space, err)
		}
	}
}

// TestKeep: the variables decide where the leases are from; without them, they are local ones.
func TestKeep(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	secret, dir := randflake.NewSecret(), t.TempDir()
	store := "sqlite:" + dir + "/ids.db"
	for _, tt := range []struct {
		variables string
		want      string // of the error
	}{
		{"", ""},
		{"RANDFLAKE_SECRET=" + secret.Hex(), "RANDFLAKE_STORE"},
		{"RANDFLAKE_STORE=" + store, "RANDFLAKE_SECRET_FILE"},
		{"RANDFLAKE_STORE=" + store + " RANDFLAKE_SECRET=x", "RANDFLAKE_SECRET: "},
		{"RANDFLAKE_STORE=" + store + " RANDFLAKE_SECRET=" + secret.Hex(), "no such space"},
		{"init", ""},
		{"RANDFLAKE_STORE=" + store + " RANDFLAKE_SECRET=" + secret.Hex(), ""},
		{"RANDFLAKE_STORE_FILE=" + dir + "/store RANDFLAKE_SECRET_FILE=" + dir + "/secret", ""},
		{"RANDFLAKE_STORE_FILE=" + dir + "/none", "RANDFLAKE_STORE_FILE"},
	} {
		t.Run(tt.variables, func(t *testing.T) {
			if tt.variables == "init" {
				space, err := Create(t.Context(), store, lease.Config{New: true, Check: secret.CheckValue()})
				err = errors.Join(err, local.WriteSecret(dir+"/secret", secret), os.WriteFile(dir+"/store", []byte(store+"\n"), 0o600))
				if err != nil {
					t.Fatal(err)
				}
				space.Close()
				return
			}
			for _, variable := range strings.Fields(tt.variables) {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			keeper, err := Keep("shop", lease.WithLogger(slog.New(slog.DiscardHandler)))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if err == nil {
				id, err := keeper.Generator().Generate()
				if err := errors.Join(err, keeper.Close()); err != nil {
					t.Error(err)
				}
				if ours := time.Since(randflake.NewCipher(secret).Inspect(id).Time).Abs() < time.Hour; ours != (tt.variables != "") {
					t.Errorf("%v is of our secret: %t", id, ours)
				}
			}
		})
	}
}
