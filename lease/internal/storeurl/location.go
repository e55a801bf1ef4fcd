package storeurl

import (
	"errors"
	"fmt"
	"strings"
)

// A Location is where a store is: a directory, or what a URL says.
type Location struct {
	Dir string // of a store in a directory
	URL string // of a store on a server or in a file of SQLite, with the scheme in lower case. It may hold a password: print String instead
}

// schemes are those of URLs, in the order in which people read them.
var schemes = []struct{ name, engine string }{
	{"sqlite", "SQLite"}, {"etcd", "etcd"}, {"etcds", "etcd"}, {"redis", "Redis"}, {"rediss", "Redis"},
	{"postgres", "PostgreSQL"}, {"postgresql", "PostgreSQL"}, {"mysql", "MariaDB"}, {"mariadb", "MariaDB"}, {"s3", "S3"}, {"kubernetes", "Kubernetes"},
}

// Schemes returns what a URL of a store can begin with. All but file and sqlite name a server.
func Schemes() []string {
	names := []string{"file"}
	for _, s := range schemes {
		names = append(names, s.name)
	}
	return names
}

// ParseLocation reads the name of a store as users write it. It connects to nothing, and leaves the parameters of a URL to
// the engine.
//
//   - scheme://... is the URL of a server if scheme is one of [Schemes]. Upper and lower case mean the same, and so do
//     postgres and postgresql, mysql and mariadb.
//   - sqlite:FILE is a file of SQLite, and so is sqlite://FILE with a full name. It is a URL, and may have parameters.
//   - kubernetes:NAMESPACE/NAME is a ConfigMap. It is a URL too.
//   - file:DIR is a directory, and so is file://DIR with a full name. Nothing in DIR is escaped.
//   - Another name is a directory, unless it has one of @ = : in it (but for the colon of a Windows drive), or %3A: it
//     could be a URL with a typing error, or what a driver takes, and hold a password.
//
// A name that is refused is not repeated in the error.
func ParseLocation(name string) (Location, error) {
	scheme, rest, found := strings.Cut(name, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case found && scheme == "file":
		return inDirectory(rest)
	case found && scheme == "sqlite":
		return inFile(rest)
	case found && scheme == "kubernetes":
		return Location{URL: "kubernetes:" + rest}, CheckURL(rest)
	case found && engineOf(scheme) != "":
		return onServer(scheme, rest)
	case len(scheme) > 1 && strings.HasPrefix(rest, "//") && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+-.") == "":
		return Location{}, fmt.Errorf("store %s://...: no such kind of store: want a directory or one of %s", scheme, strings.Join(Schemes(), ", "))
	}
	return byPlainName(name)
}

func inDirectory(rest string) (Location, error) {
	dir := strings.TrimPrefix(rest, "//")
	if dir == "" || dir != rest && dir[0] != '/' {
		return Location{}, errors.New("store file:...: want file:DIR, or file:// and a full name")
	}
	return Location{Dir: dir}, nil
}

func inFile(rest string) (Location, error) {
	if name := strings.TrimPrefix(rest, "//"); name == "" || name != rest && name[0] != '/' {
		return Location{}, errors.New("store sqlite:...: want sqlite:FILE, or sqlite:// and a full name")
	}
	if err := CheckURL(rest); err != nil {
		return Location{}, fmt.Errorf("store sqlite:...: %w", err)
	}
	return Location{URL: "sqlite:" + rest}, nil
}

func onServer(scheme, rest string) (Location, error) {
	if !strings.HasPrefix(rest, "//") || rest == "//" {
		return Location{}, fmt.Errorf("store %s: want %s://HOST... for a server, file:DIR for a directory", scheme, scheme)
	}
	url := scheme + ":" + rest
	if err := CheckURL(url); err != nil {
		return Location{}, fmt.Errorf("store %s://...: %w", scheme, err)
	}
	return Location{URL: url}, nil
}

func byPlainName(name string) (Location, error) {
	const want = "want a directory, file:DIR for one with such a name, or a URL such as postgres://USER:PASSWORD@HOST/DATABASE"
	path := name
	if len(name) > 1 && name[1] == ':' { // on a drive
		path = name[:1] + name[2:]
	}
	if name == "" {
		return Location{}, errors.New("store: no name: want a directory or a URL")
	}
	if i := strings.IndexAny(path, "@=:"); i >= 0 {
		return Location{}, fmt.Errorf("store: a name with %q in it that is no URL: %s", path[i], want)
	}
	if strings.Contains(strings.ToLower(path), "%3a") {
		return Location{}, fmt.Errorf("store: a name with \"%%3A\" in it, as an encoded URL has: %s", want)
	}
	if word, _, found := strings.Cut(strings.ToLower(path), "//"); found && engineOf(word) != "" {
		return Location{}, fmt.Errorf("store: a name that begins with %s//: %s", word, want)
	}
	return Location{Dir: name}, nil
}

func engineOf(scheme string) string {
	for _, s := range schemes {
		if s.name == scheme {
			return s.engine
		}
	}
	return ""
}

// Engine returns what keeps the store, for people: "file", "SQLite", "etcd", "Redis", "PostgreSQL", "MariaDB", "S3" or
// "Kubernetes".
func (l Location) Engine() string {
	if l.URL == "" {
		return "file"
	}
	scheme, _, _ := strings.Cut(l.URL, ":")
	return engineOf(scheme)
}

// String returns the name of the directory, or the URL without its password.
func (l Location) String() string {
	if l.URL == "" {
		return l.Dir
	}
	return redactURL(l.URL)
}
