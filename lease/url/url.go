// Package url opens a space by the name of its store: a directory or a URL.
//
//	keeper, err := url.Keep(ctx, "shop") // a generator, by the store and the secret that the environment names
//	space, err := url.Open(ctx, "postgres://app:password@db.example.com/app", lease.Config{})
//
// [Parse] says what names mean; the package of each engine, which parameters its URLs take. All
// also take ?space=NAME, the name of the space. This package compiles the clients of all engines: a
// program that needs one of them only imports that one's package.
package url

import (
	"context"
	"fmt"
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

// A driver makes engines of the URLs with one scheme.
type driver struct {
	scheme  string
	check   func(where string) error
	connect connector[lease.Engine]
}

type connector[E lease.Engine] func(ctx context.Context, where string) (E, error)

// drivers have the order in which help and errors list them.
var drivers = []driver{
	{"file", checkDir, engine(openDir)},
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

func checkDir(string) error { return nil }

func openDir(_ context.Context, dir string) (*file.Engine, error) { return file.New(dir) }

// engine makes all drivers of one type. An error has no engine, not even a nil one.
func engine[E lease.Engine](connect connector[E]) connector[lease.Engine] {
	return func(ctx context.Context, where string) (lease.Engine, error) {
		e, err := connect(ctx, where)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
}

// driverOf returns the driver for a scheme, or nil.
func driverOf(scheme string) *driver {
	for i := range drivers {
		if drivers[i].scheme == scheme {
			return &drivers[i]
		}
	}
	return nil
}

// Schemes returns what a URL of a store can begin with. All but file and sqlite name a server.
func Schemes() (schemes []string) {
	for _, d := range drivers {
		schemes = append(schemes, d.scheme)
	}
	return schemes
}

// Parse reads the name of a store as users write it, and checks the parameters of a URL, with the
// files that they name. It connects to nothing. No error shows the name, which may hold a password.
// space is what the name says after space=, or "".
//
//   - scheme://... is the URL of a server if scheme is one of [Schemes]. Upper and lower case mean the same, and so do
//     postgres and postgresql, mysql and mariadb.
//   - sqlite:FILE is a file of SQLite, and so is sqlite://FILE with a full name. It is a URL, and may have parameters.
//   - kubernetes:NAMESPACE/NAME is a ConfigMap. It is a URL too.
//   - file:DIR is a directory, and so is file://DIR with a full name. Nothing in DIR is escaped. It may have ?space=NAME
//     at its end, and must have that, perhaps ?space=default, if there is another ? in DIR.
//   - Another name is a directory, with or without ?space=NAME at its end, unless it has one of @ = : ? in it (but for the
//     colon of a Windows drive), or %3A: it could be a URL with a typing error, or what a driver takes, and hold a password.
func Parse(name string) (l Location, space string, err error) {
	l, space, err = parseLocation(name)
	if err != nil {
		return Location{}, "", err
	}
	return l, space, l.driver().check(l.where())
}

var errNoSpaceName = fmt.Errorf("%w: space=...: want one name", lease.ErrInvalid)

// takeSpace removes space=NAME from the parameters of a URL, wherever it stands, and leaves all
// else as it is.
func takeSpace(url string) (rest, space string, err error) {
	rest, query, found := strings.Cut(url, "?")
	if !found {
		return url, "", nil
	}
	var others []string
	for parameter := range strings.SplitSeq(query, "&") {
		value, found := strings.CutPrefix(parameter, "space=")
		if !found {
			others = append(others, parameter)
			continue
		}
		if value == "" || space != "" {
			return "", "", errNoSpaceName
		}
		space = value
	}
	if len(others) > 0 {
		rest += "?" + strings.Join(others, "&")
	}
	return rest, space, nil
}

// Engine connects to the store of that name. space is what Parse returns.
func Engine(ctx context.Context, name string) (e lease.Engine, space string, err error) {
	l, space, err := Parse(name)
	if err != nil {
		return nil, "", err
	}
	e, err = l.driver().connect(ctx, l.where())
	return e, space, err
}

// Open opens a space in the store of that name, as [lease.Open] does. A space that the name
// says comes before that of config.
func Open(ctx context.Context, name string, config lease.Config) (*lease.Space, error) {
	return begin(ctx, name, config, lease.Open)
}

// Create makes a space in the store of that name, as [lease.Create] does. The parent of a directory
// must be there.
func Create(ctx context.Context, name string, config lease.Config) (*lease.Space, error) {
	return begin(ctx, name, config, lease.Create)
}

// An opener is lease.Open or lease.Create.
type opener func(context.Context, lease.Engine, lease.Config) (*lease.Space, error)

func begin(ctx context.Context, name string, config lease.Config, open opener) (*lease.Space, error) {
	e, space, err := Engine(ctx, name)
	if err != nil {
		return nil, err
	}
	if space != "" {
		config.Name = space
	}
	s, err := open(ctx, e, config)
	if err != nil {
		e.Close()
	}
	return s, err
}
