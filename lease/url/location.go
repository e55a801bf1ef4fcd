package url

import (
	"errors"
	"fmt"
	"strings"

	"github.com/randflake/randflake/internal/redact"
	"github.com/randflake/randflake/lease/internal/storeurl"
)

// A Location is where a store is: a directory, or what a URL says.
type Location struct {
	// Dir is that of a store in a directory.
	Dir string

	// URL is that of a store on a server or in a file of SQLite, with the scheme in lower case. It
	// may hold a password: print String instead.
	URL string
}

const schemeLetters = "abcdefghijklmnopqrstuvwxyz0123456789+-."

// parseLocation is Parse without what the engine says of a URL's parameters.
func parseLocation(name string) (l Location, space string, err error) {
	scheme, rest, found := strings.Cut(name, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case found && scheme == "file":
		return inDirectory(rest)
	case found && driverOf(scheme) != nil:
		return atURL(scheme, rest)
	case len(scheme) > 1 && strings.Trim(scheme, schemeLetters) == "" && strings.HasPrefix(rest, "//"):
		return l, "", fmt.Errorf("store %s://...: no such kind of store: want a directory or one of %s",
			scheme, strings.Join(Schemes(), ", "))
	}
	return byPlainName(name)
}

// pathIn returns the path in what follows a scheme: any path, or // and a full one.
func pathIn(rest string) (path string, found bool) {
	path, full := strings.CutPrefix(rest, "//")
	return path, path != "" && (!full || path[0] == '/')
}

// cutSpace cuts ?space=NAME off the end of a directory's name.
func cutSpace(name string) (dir, space string, found bool, err error) {
	i := strings.LastIndex(name, "?space=")
	if i < 0 {
		return name, "", false, nil
	}
	space = name[i+len("?space="):]
	if space == "" {
		return "", "", false, errNoSpaceName
	}
	return name[:i], space, true, nil
}

func inDirectory(rest string) (l Location, space string, err error) {
	rest, space, hasSpace, err := cutSpace(rest)
	if err != nil {
		return l, "", err
	}
	dir, found := pathIn(rest)
	if !found {
		return l, "", errors.New("store file:...: want file:DIR, or file:// and a full name")
	}
	if !hasSpace && strings.Contains(dir, "?") { // it may be a parameter with a typing error
		return l, "", errors.New("store file:...?...: want file:DIR?space=NAME for a space of a directory: " +
			"with ?space=default at the end DIR may have a ? in it")
	}
	return Location{Dir: dir}, space, nil
}

func atURL(scheme, rest string) (l Location, space string, err error) {
	_, isFile := pathIn(rest)
	isServer := strings.HasPrefix(rest, "//") && rest != "//"
	switch {
	case scheme == "kubernetes": // its engine says what it wants
	case scheme == "sqlite" && !isFile:
		return l, "", errors.New("store sqlite:...: want sqlite:FILE, or sqlite:// and a full name")
	case scheme != "sqlite" && !isServer:
		return l, "", fmt.Errorf("store %s: want %s://HOST... for a server, file:DIR for a directory", scheme, scheme)
	}
	url := scheme + ":" + rest
	if err := storeurl.CheckURL(url); err != nil {
		return l, "", fmt.Errorf("store %s:...: %w", scheme, err)
	}
	url, space, err = takeSpace(url)
	return Location{URL: url}, space, err
}

func byPlainName(name string) (l Location, space string, err error) {
	const want = "want a directory, file:DIR for one with such a name, " +
		"or a URL such as postgres://USER:PASSWORD@HOST/DATABASE"
	name, space, _, err = cutSpace(name)
	if err != nil {
		return l, "", err
	}
	path := name
	if len(name) > 1 && name[1] == ':' { // on a drive
		path = name[:1] + name[2:]
	}
	if name == "" || strings.TrimSpace(name) != name {
		return l, "", errors.New("store: no name, or white space around it: want a directory or a URL")
	}
	i := strings.IndexAny(path, "@=:?")
	if i >= 0 {
		return l, "", fmt.Errorf("store: a name with %q in it that is no URL: %s", path[i], want)
	}
	if strings.Contains(strings.ToLower(path), "%3a") {
		return l, "", fmt.Errorf("store: a name with \"%%3A\" in it, as an encoded URL has: %s", want)
	}
	word, _, found := strings.Cut(strings.ToLower(path), "//")
	if found && word != "file" && driverOf(word) != nil {
		return l, "", fmt.Errorf("store: a name that begins with %s//: %s", word, want)
	}
	return Location{Dir: name}, space, nil
}

func (l Location) driver() *driver {
	if l.URL == "" {
		return driverOf("file")
	}
	scheme, _, _ := strings.Cut(l.URL, ":")
	return driverOf(scheme)
}

// where is what the driver is told.
func (l Location) where() string {
	if l.URL == "" {
		return l.Dir
	}
	return l.URL
}

// String returns the name of the directory, or the URL without its password.
func (l Location) String() string {
	if l.URL == "" {
		return l.Dir
	}
	return redact.Passwords(l.URL, l.URL)
}
