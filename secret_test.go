package randflake

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretIsRedacted(t *testing.T) {
	secret := NewSecret()
	type config struct {
		Secret Secret
		Ptr    *Secret
	}
	leaks := []string{hex.EncodeToString(secret[:]), fmt.Sprint([16]byte(secret)), string(secret[:]), base64.StdEncoding.EncodeToString(secret[:])}
	see := func(what, output string) {
		t.Helper()
		if !strings.Contains(output, redacted) {
			t.Errorf("%s: %q, want %s", what, output, redacted)
		}
		for _, leak := range leaks {
			if strings.Contains(strings.ToLower(output), strings.ToLower(leak)) {
				t.Errorf("%s leaks the secret: %q", what, output)
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%z", "%20v", "% x"} {
		see(verb, fmt.Sprintf(verb, secret))
		see(verb+" of a pointer", fmt.Sprintf(verb, &secret))
		see(verb+" in a struct", fmt.Sprintf(verb, config{Secret: secret}))
		see(verb+" in a slice", fmt.Sprintf(verb, []Secret{secret}))
	}
	see("Sprint", fmt.Sprint(secret))
	see("String", secret.String())
	see("an error", fmt.Errorf("with %v", secret).Error())
	text, err := secret.MarshalText()
	if err != nil {
		t.Error(err)
	}
	see("MarshalText", string(text))
	data, err := json.Marshal(config{secret, &secret})
	if err != nil {
		t.Error(err)
	}
	see("JSON", string(data))
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"slog text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"slog JSON": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var buf bytes.Buffer
		slog.New(handler(&buf)).Info("start", "secret", secret, "config", config{Secret: secret})
		see(name, buf.String())
	}
}

func TestParseSecret(t *testing.T) {
	secret := NewSecret()
	for _, text := range []string{
		hex.EncodeToString(secret[:]),
		strings.ToUpper(hex.EncodeToString(secret[:])),
		base64.StdEncoding.EncodeToString(secret[:]),
		base64.RawStdEncoding.EncodeToString(secret[:]),
		base64.URLEncoding.EncodeToString(secret[:]),
		base64.RawURLEncoding.EncodeToString(secret[:]),
	} {
		if got, err := ParseSecret(text); got != secret || err != nil {
			t.Errorf("ParseSecret of %d characters: %v", len(text), err)
		}
		var config struct{ Secret Secret }
		if err := json.Unmarshal([]byte(`{"Secret":"`+text+`"}`), &config); err != nil || config.Secret != secret {
			t.Errorf("from JSON, %d characters: %v", len(text), err)
		}
	}
}

func TestParseSecretRefuses(t *testing.T) {
	good := hex.EncodeToString([]byte("0123456789abcdef"))
	for _, text := range []string{
		"", good[:31], good + "0", good + "\n", " " + good, good[:31] + "g", redacted,
		base64.StdEncoding.EncodeToString(make([]byte, 15)),
		base64.StdEncoding.EncodeToString(make([]byte, 17)),
		"AAAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAA=====", "+_AAAAAAAAAAAAAAAAAAAA==",
		"AAAAAAAAAAAAAAAAAAAAAB==",   // bits that no byte holds
		"AAAAAAAAAAAAAAAAAAAA\nAA==", // white space
	} {
		secret, err := ParseSecret(text)
		if !errors.Is(err, ErrInvalidSecret) || secret != (Secret{}) {
			t.Errorf("ParseSecret(%q): %v", text, err)
		}
		if err != nil && len(text) > 4 && strings.Contains(err.Error(), text) {
			t.Errorf("the error repeats the text: %v", err)
		}
		kept := Secret{1}
		if err := kept.UnmarshalText([]byte(text)); err == nil || kept != (Secret{1}) {
			t.Errorf("UnmarshalText(%q): %v", text, err)
		}
	}
}

func TestNewSecret(t *testing.T) {
	if a, b := NewSecret(), NewSecret(); a == b || a == (Secret{}) {
		t.Error("two new secrets are equal, or zero")
	}
}
