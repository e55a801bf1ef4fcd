// Package url opens a space by the name of its store: a directory or a URL.
//
//	space, err := url.Open(ctx, os.Getenv("RANDFLAKE_STORE"), lease.Config{})
//
// [Parse] says what names mean; the package of each engine, which parameters its URLs take. Each also takes space=NAME, the name
// of the space. This package compiles the clients of all engines: a program that needs one of them only imports that one's package.
package url

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/etcd"
	"github.com/randflake/randflake/lease/file"
	"github.com/randflake/randflake/lease/kubernetes"
	"github.com/randflake/randflake/lease/mariadb"
	"github.com/randflake/randflake/lease/postgres"
	"github.com/randflake/randflake/lease/redis"
	"github.com/randflake/randflake/lease/s3"
	"github.com/randflake/randflake/lease/sqlite"
)

// A kind of stores has the scheme of its URLs, and an engine.
type kind struct {
	scheme  string
	check   func(where string) error
	connect func(ctx context.Context, where string) (lease.Engine, error)
}

// kinds have the order in which help and errors list them.
var kinds = []kind{
	{"file", func(string) error { return nil }, func(_ context.Context, dir string) (lease.Engine, error) { return file.New(dir) }},
	{"sqlite", sqlite.Check, engine(sqlite.Connect)},
	{"etcd", etcd.Check, engine(etcd.Connect)},
	{"etcds", etcd.Check, engine(etcd.Connect)},
	{"redis", redis.Check, engine(redis.Connect)},
	{"rediss", redis.Check, engine(redis.Connect)},
	{"postgres", postgres.Check, engine(postgres.Connect)},
	{"postgresql", postgres.Check, engine(postgres.Connect)},
	{"mysql", mariadb.Check, engine(mariadb.Connect)},
	{"mariadb", mariadb.Check, engine(mariadb.Connect)},
	{"s3", s3.Check, engine(s3.Connect)},
	{"kubernetes", kubernetes.Check, engine(kubernetes.Connect)},
}

func engine[E lease.Engine](connect func(ctx context.Context, url string) (E, error)) func(context.Context, string) (lease.Engine, error) {
	return func(ctx context.Context, url string) (lease.Engine, error) {
		e, err := connect(ctx, url)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
}

// kindOf returns the kind of stores with a scheme, or nil.
func kindOf(scheme string) *kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.scheme == scheme }); i >= 0 {
		return &kinds[i]
	}
	return nil
}

// Schemes returns what a URL of a store can begin with. All but file and sqlite name a server.
func Schemes() (schemes []string) {
	for _, k := range kinds {
		schemes = append(schemes, k.scheme)
	}
	return schemes
}

// Parse reads the name of a store as users write it, and checks the parameters of a URL, with the files that they name. It
// connects to nothing. No error shows the name, which may hold a password. space is what the URL names.
//
//   - scheme://... is the URL of a server if scheme is one of [Schemes]. Upper and lower case mean the same, and so do
//     postgres and postgresql, mysql and mariadb.
//   - sqlite:FILE is a file of SQLite, and so is sqlite://FILE with a full name. It is a URL, and may have parameters.
//   - kubernetes:NAMESPACE/NAME is a ConfigMap. It is a URL too.
//   - file:DIR is a directory, and so is file://DIR with a full name. Nothing in DIR is escaped.
//   - Another name is a directory, unless it has one of @ = : in it (but for the colon of a Windows drive), or %3A: it
//     could be a URL with a typing error, or what a driver takes, and hold a password.
func Parse(name string) (l Location, space string, err error) {
	if l, err = parseLocation(name); err != nil || l.URL == "" {
		return l, "", err
	}
	if l.URL, space, err = takeSpace(l.URL); err != nil {
		return l, "", err
	}
	return l, space, l.kind().check(l.URL)
}

// takeSpace removes space=NAME from the parameters of a URL, wherever it stands, and leaves all else as it is.
func takeSpace(url string) (rest, space string, err error) {
	rest, query, found := strings.Cut(url, "?")
	if !found {
		return url, "", nil
	}
	var others []string
	for parameter := range strings.SplitSeq(query, "&") {
		if value, found := strings.CutPrefix(parameter, "space="); found && (value == "" || space != "") {
			return "", "", fmt.Errorf("%w: space=%s: want one name", lease.ErrInvalid, value)
		} else if found {
			space = value
		} else {
			others = append(others, parameter)
		}
	}
	if len(others) > 0 {
		rest += "?" + strings.Join(others, "&")
	}
	return rest, space, nil
}

// Engine connects to the store of that name. space is what the URL names, or "".
func Engine(ctx context.Context, name string) (e lease.Engine, space string, err error) {
	l, space, err := Parse(name)
	if err != nil {
		return nil, "", err
	}
	e, err = l.kind().connect(ctx, l.Dir+l.URL)
	return e, space, err
}

// Open opens a space in the store of that name, as [lease.Open] does. A space that the URL names comes before that of config.
func Open(ctx context.Context, name string, config lease.Config) (*lease.Space, error) {
	return begin(ctx, name, config, lease.Open)
}

// Create makes a space in the store of that name, as [lease.Create] does. The parent of a directory must be there.
func Create(ctx context.Context, name string, config lease.Config) (*lease.Space, error) {
	return begin(ctx, name, config, lease.Create)
}

func begin(ctx context.Context, name string, config lease.Config, start func(context.Context, lease.Engine, lease.Config) (*lease.Space, error)) (*lease.Space, error) {
	e, space, err := Engine(ctx, name)
	if err != nil {
		return nil, err
	}
	if space != "" {
		config.Name = space
	}
	s, err := start(ctx, e, config)
	if err != nil {
		e.Close()
	}
	return s, err
}
