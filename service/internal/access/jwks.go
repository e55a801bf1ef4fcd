package access

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/randflake/randflake/internal/smallfile"
)

const maxAnswer = 1 << 20 // bytes that are read from a URL

// load reads the keys for signatures. It leaves out keys that it can't read: they may be of a kind of the future.
func (i *issuer) load(ctx context.Context) (set jose.JSONWebKeySet, err error) {
	from := i.config.JWKS
	if from == "" {
		from, err = i.discover(ctx)
		if err != nil {
			return set, err
		}
	}
	var sent struct{ Keys []json.RawMessage }
	if err := i.read(ctx, from, &sent); err != nil {
		return set, err
	}
	if sent.Keys == nil {
		return set, fmt.Errorf("access: %s has no keys: want a set of JSON web keys", from)
	}
	for _, text := range sent.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && (key.Use == "" || key.Use == "sig") {
			set.Keys = append(set.Keys, key)
		}
	}
	return set, nil
}

// discover asks the issuer for the URL of its keys. The answer must name the same issuer, and an https URL.
func (i *issuer) discover(ctx context.Context) (url string, err error) {
	var found struct {
		Issuer string
		JWKS   string `json:"jwks_uri"`
	}
	at := strings.TrimSuffix(i.config.Issuer, "/") + "/.well-known/openid-configuration"
	if err := i.read(ctx, at, &found); err != nil {
		return "", err
	}
	if found.Issuer != i.config.Issuer || !isHTTPS(found.JWKS) {
		return "", fmt.Errorf("access: discovery answers with issuer %.100q and keys at %.100q: "+
			"want this issuer, and an https URL", found.Issuer, found.JWKS)
	}
	return found.JWKS, nil
}

// isHTTPS reports whether keys are at a URL, and not in a file.
func isHTTPS(place string) bool { return strings.HasPrefix(place, "https:") }

// read reads the JSON of a file, or of a URL.
func (i *issuer) read(ctx context.Context, from string, into any) error {
	if isHTTPS(from) {
		return i.get(ctx, from, into)
	}
	text, err := smallfile.Read(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// get reads the JSON of a URL, with the issuer's token if it has one.
func (i *issuer) get(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if i.config.TokenFile != "" {
		token, err := smallfile.Read(i.config.TokenFile)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := i.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("access: %s answers %s", url, answer.Status)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into)
}
