// Package storeurl reads the URLs of engines.
package storeurl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ParseURL reads an engine's URL. Its errors show nothing of it, as there may be a password in any
// part of one that is malformed.
func ParseURL(raw string) (*url.URL, url.Values, error) {
	if err := CheckURL(raw); err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, nil, errors.New("store: URL: can't be parsed: " +
			"percent-encode what is special in user, password and parameters")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, errors.New("store: URL: parameters can't be parsed: want name=value, separated by &")
	}
	return u, query, nil
}

// CheckURL refuses a URL that has an @ after the host. A password with an unescaped /, ? or # makes
// one, and a program that takes the URL apart would show a part of the password as a path or a
// parameter. The error shows nothing of the URL.
func CheckURL(url string) error {
	_, rest, found := strings.Cut(url, "://")
	if !found {
		rest = url
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 && strings.Contains(rest[i:], "@") {
		return errors.New("store: URL has an @ after the host: write the special characters of a password as " +
			"%2F for /, %3F for ?, %23 for #, %40 for @, as elsewhere in the URL")
	}
	return nil
}

// WrapError says of an error that it is of the URL of an engine. It returns nil for nil.
func WrapError(engine string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: URL: %w", engine, err)
}

// UnknownParameter is the error for a parameter that an engine doesn't know. Spaces are not the engines', so
// it says where their names go.
func UnknownParameter(name, want string) error {
	if name == "space" {
		want += "; an engine's URL has no space: say lease.Config{Name: ...}, or open the URL by lease/url"
	}
	return fmt.Errorf("unknown parameter %q: want %s", name, want)
}

// TakeParameter removes a parameter and returns its value.
func TakeParameter(query url.Values, name string) string {
	defer query.Del(name)
	return query.Get(name)
}

// TakeWord removes a parameter that has just one meaning, and reports whether it is there. Another
// value is an error.
func TakeWord(query url.Values, name, word string) (bool, error) {
	if !query.Has(name) {
		return false, nil
	}
	if got := TakeParameter(query, name); got != word {
		return false, fmt.Errorf("store: URL: %s=%s: want %s=%s, or nothing", name, got, name, word)
	}
	return true, nil
}

// CheckAllTaken refuses parameters that are left.
func CheckAllTaken(query url.Values, want string) error {
	for name := range query {
		return UnknownParameter(name, want)
	}
	return nil
}

// IsServer reports whether text is the URL of an HTTP server, without a password or parameters.
func IsServer(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return false
	}
	return u.Scheme == "http" || u.Scheme == "https"
}
