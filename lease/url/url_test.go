package url

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/internal/redact"
	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
)

// password is in each of names that has one. Nothing may show it.
const password = "hunter2"

// A name is how somebody writes where a store is, and what all programs make of it: one of dir, url
// and wrong is not empty.
type name struct {
	name  string
	dir   string // the directory that it means
	url   string // the URL that it means, as it is printed; no server is there
	wrong string // part of the error
}

// names are those of stores as users write them: right, mistyped, and as drivers take them.
func names() []name {
	at := func(char string) string { return "a name with '" + char + "' in it that is no URL" }
	return []name{
		{name: "leases", dir: "leases"},
		{name: "/nonesuch/leases", dir: "/nonesuch/leases"},
		{name: "my leases", dir: "my leases"},
		{name: "file:leases", dir: "leases"},
		{name: "file:///nonesuch/leases", dir: "/nonesuch/leases"},
		{name: "leases?space=orders", dir: "leases"},
		{name: "file:leases?space=orders", dir: "leases"},
		{name: "file:a@b:c=d?space=orders", dir: "a@b:c=d"},
		{name: "file:what?/leases?space=default", dir: "what?/leases"},
		{name: "leases?space=", wrong: "want one name"},
		{name: "file:leases?space=", wrong: "want one name"},
		{name: "leases?", wrong: at("?")},
		{name: "what?/leases", wrong: at("?")},
		{name: "what?/leases?space=default", wrong: at("?")},
		{name: "leases?spcae=orders", wrong: at("?")},
		{name: "file:what?/leases", wrong: "want file:DIR?space=NAME"},
		{name: "file:leases?spcae=hunter2", wrong: "want file:DIR?space=NAME"},
		{name: "?space=orders", wrong: "no name"},
		{name: "leases\r", wrong: "white space around"},
		{name: "file:?space=orders", wrong: "want file:DIR"},
		{name: "file://relative", wrong: "want file:DIR"},
		{name: "file:", wrong: "want file:DIR"},

		{name: "sqlite:/nonesuch/ids.db", url: "sqlite:/nonesuch/ids.db"},
		{name: "sqlite:", wrong: "want sqlite:FILE"},
		{name: "sqlite:ids.db?spcae=ids", wrong: `unknown parameter "spcae"`},

		{name: "etcd://root:hunter2@127.0.0.1:1/?dial-timeout=100ms", url: "etcd://root:xxxxx@127.0.0.1:1/?dial-timeout=100ms"},
		{name: "redis://:hunter2@127.0.0.1:1/0", url: "redis://:xxxxx@127.0.0.1:1/0"},
		{name: "postgres://shop:hunter2@127.0.0.1:1/shop?schema=ids", url: "postgres://shop:xxxxx@127.0.0.1:1/shop?schema=ids"},
		{name: "mysql://shop:hunter2@127.0.0.1:1/shop", url: "mysql://shop:xxxxx@127.0.0.1:1/shop"},
		{name: "mariadb://shop:hunter2@127.0.0.1:1/shop", url: "mariadb://shop:xxxxx@127.0.0.1:1/shop"},
		{name: "s3://bucket/ids?endpoint=http://127.0.0.1:1", url: "s3://bucket/ids?endpoint=http://127.0.0.1:1"},
		{name: "kubernetes:shop/ids?kubeconfig=/nonesuch", url: "kubernetes:shop/ids?kubeconfig=/nonesuch"},
		{name: "kubernetes://shop/ids", wrong: "want kubernetes:NAMESPACE/NAME"},

		{name: "host=db user=shop password=hunter2", wrong: at("=")},
		{name: "shop:hunter2@tcp(db:3306)/shop", wrong: at(":")},
		{name: ":hunter2@redis:6379", wrong: at(":")},
		{name: "postgres//shop:hunter2@db/shop", wrong: at(":")},
		{name: "postgres%3A%2F%2Fshop%3Ahunter2%40db%2Fshop", wrong: "as an encoded URL has"},
		{name: "127.0.0.1:6379", wrong: at(":")},
		{name: "postgress://shop:hunter2@127.0.0.1:1/shop", wrong: "no such kind of store"},
		{name: "etcd:127.0.0.1:2379", wrong: "want etcd://HOST"},
		{name: "redis:/:hunter2@127.0.0.1:1", wrong: "want redis://HOST"},
		{name: "mysql:shop:hunter2@tcp(127.0.0.1:1)/shop", wrong: "want mysql://HOST"},
		{name: "s3://key:hunter2@bucket/ids", wrong: "credentials come from the environment"},
		{name: "etcd://root:hunter2/x@127.0.0.1:1", wrong: "%2F for /"},
		{name: "redis://shop:1#hunter2@127.0.0.1:1", wrong: "%23 for #"},
		{name: "postgres://shop:hunter2%zz@127.0.0.1:1/shop", wrong: "special characters encoded"},
		{name: "postgres://shop:hunter2@127.0.0.1:1/shop?shcema=ids", wrong: `unknown parameter "shcema"`},
		{name: "mysql://shop:hunter2@127.0.0.1:1", wrong: "want mysql://USER:PASSWORD@HOST:3306/DATABASE"},
	}
}

func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("AWS_ACCESS_KEY_ID", "test") // or the SDK would look for a role of this machine
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	for _, n := range names() {
		got, _, err := Parse(n.name)
		_, openErr := Open(t.Context(), n.name, lease.Config{})
		var createErr error
		if n.dir == "" {
			_, createErr = Create(t.Context(), n.name, lease.Config{})
		}
		if n.wrong == "" && (err != nil || got.String() != n.dir+n.url || got.Dir != n.dir || openErr == nil) {
			t.Errorf("%s: %+v, %v, opened with %v", n.name, got, err, openErr)
		}
		for _, err := range []error{err, openErr, createErr} {
			if n.wrong != "" {
				require.ErrorSays(t, err, n.wrong, "%s", n.name)
			}
		}
		said := fmt.Sprint(got, err, openErr, createErr)
		require.That(t, !strings.Contains(said, password), "%s: %s", n.name, said)
		if n.name = redact.Passwords(n.name); n.url != "" && strings.Contains(n.name, password) {
			t.Errorf("redacted: %s", n.name)
		}
	}
}

// TestWindowsDrive has a name with a colon that is a directory.
func TestWindowsDrive(t *testing.T) {
	for _, name := range []string{`C:\leases`, "c:leases"} {
		l, _, err := Parse(name)
		require.That(t, err == nil && l.Dir == name, "%+v, %v", l, err)
	}
}

// TestSchemes has a name with each scheme, in upper case.
func TestSchemes(t *testing.T) {
	for _, scheme := range Schemes() {
		l, _, err := parseLocation(strings.ToUpper(scheme) + ":///x")
		require.That(t, err == nil && l.driver() == driverOf(scheme), "%s: %+v, %v", scheme, l, err)
	}
}

// TestDirectory: spaces of one directory are apart.
func TestDirectory(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "leases")
	for i, name := range []string{"file:" + dir, "file:" + dir + "?space=orders", dir + "?space=visits"} {
		_, err := Open(t.Context(), name, lease.Config{})
		require.That(t, errors.Is(err, lease.ErrNoSpace) && strings.HasSuffix(err.Error(), "make the space first"),
			"%v, want %v, and what to do", err, lease.ErrNoSpace)
		limits := lease.Limits{Nodes: uint32(i + 1)}
		made, err := Create(t.Context(), name, lease.Config{NeverUsed: true, Limits: limits})
		require.NoError(t, err)
		defer made.Close()
	}
	for i, name := range []string{dir + "?space=default", dir + "?space=orders", "file:" + dir + "?space=visits"} {
		opened, err := Open(t.Context(), name, lease.Config{})
		require.NoError(t, err)
		defer opened.Close()
		require.Equal(t, opened.Limits().Nodes, uint32(i+1), "nodes of %s", name)
	}
	made, err := os.ReadDir(parent)
	require.That(t, err == nil && len(made) == 1, "%v, %v, want one directory", made, err)
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
		rest, space, err := takeSpace(url)
		isRight := [2]string{rest, space} == want && errors.Is(err, lease.ErrInvalid) == (rest == "")
		require.That(t, isRight, "%s: %s and %s, %v", url, rest, space, err)
	}
}

// TestKeep: the variables decide where the leases are from; without them, they are local ones.
// TestKeepWaits: after a loss of data Keep waits if two minutes are enough.
func TestKeepWaits(t *testing.T) {
	for noReserve, want := range map[bool]error{false: nil, true: lease.ErrLoss} {
		dir := t.TempDir()
		secret := randflake.NewSecret()
		t.Setenv("RANDFLAKE_STORE", "file:"+dir)
		t.Setenv("RANDFLAKE_SECRET", secret.Hex())
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(time.Unix(1800000000, 0)))
			space, err := Create(t.Context(), "file:"+dir, lease.Config{NeverUsed: true, NoReserve: noReserve, CheckValue: secret.CheckValue()})
			require.NoError(t, err)
			require.NoError(t, errors.Join(space.ReportLoss(t.Context(), "by hand"), space.Close()))
			began := time.Now()
			keeper, err := Keep(t.Context(), "shop", lease.WithClock(time.Now), lease.WithLogger(slog.New(slog.DiscardHandler)))
			waited := time.Since(began)
			require.That(t, errors.Is(err, want) && (waited > time.Minute) == (err == nil) && waited <= 70*time.Second,
				"%v after %v, want %v", err, waited, want)
			if err == nil {
				require.NoError(t, keeper.Close())
			}
		})
	}
}

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
		{"RANDFLAKE_STORE_FILE=" + dir + "/store RANDFLAKE_STORE=" + store, "are both set"},
		{"RANDFLAKE_STORE=", "RANDFLAKE_STORE is empty"},
		{"RANDFLAKE_STORE=" + store + " RANDFLAKE_SECRET=" + secret.Hex() + " RANDFLAKE_SECRET_FILE=" + dir + "/secret", "are both set"},
		{"RANDFLAKE_STORE_FILE=redis://:pass-word@host", "RANDFLAKE_STORE_FILE: want a file that contains the name of a store: open redis://:xxxxx@host"},
	} {
		t.Run(tt.variables, func(t *testing.T) {
			if tt.variables == "init" {
				space, err := Create(t.Context(), store, lease.Config{NeverUsed: true, CheckValue: secret.CheckValue()})
				err = errors.Join(err, local.WriteSecret(dir+"/secret", secret), os.WriteFile(dir+"/store", []byte(store+"\n"), 0o600))
				require.NoError(t, err)
				space.Close()
				return
			}
			for _, variable := range strings.Fields(tt.variables) {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			keeper, err := Keep(t.Context(), "shop", lease.WithLogger(slog.New(slog.DiscardHandler)))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if err == nil {
				id, err := keeper.Generator().Generate()
				require.NoError(t, errors.Join(err, keeper.Close()))
				ours := time.Since(randflake.NewCipher(secret).Inspect(id).Time).Abs() < time.Hour
				require.That(t, ours == (tt.variables != ""), "%v is of our secret: %t", id, ours)
			}
		})
	}
}
