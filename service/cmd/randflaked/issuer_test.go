package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/randflake/randflake/internal/test/require"
	"github.com/randflake/randflake/service/internal/config"
)

// TestWithdrawnKey: once an issuer has answered without a key, tokens of that key are refused. That takes
// the minute between two fetches.
func TestWithdrawnKey(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	a := newAuthority(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	var served atomic.Pointer[string] // the name of its key
	issuer := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: *served.Load()}}})
	}))
	issuer.TLS = &tls.Config{Certificates: []tls.Certificate{a.sign("127.0.0.1")}}
	issuer.StartTLS()
	defer issuer.Close()
	store, secret := newPostgres(t)
	text := fmt.Sprintf(`listen: localhost:0
audit: {file: %s}
spaces: [{name: demo, kind: randflake, store: %q, secretFile: %s}]
issuers: [{issuer: %s, audience: randflaked, jwks: %[4]s/keys, ca: %[5]s/ca.pem}]
principals: [{name: web, tokens: [{issuer: %[4]s, subject: web}]}]
rules: [{principals: [web], spaces: [demo], verbs: [mint]}]
`, filepath.Join(a.dir, "audit"), store, secret, issuer.URL, a.dir)
	c, err := config.Parse("test", []byte(text))
	must(t, err)
	p := start(t, func() (*config.Config, error) { return c, nil }, http.DefaultClient)
	call := func(name string) int {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: name}}, nil)
		must(t, err)
		token, err := jwt.Signed(signer).Claims(jwt.Claims{
			Issuer:   issuer.URL,
			Subject:  "web",
			Audience: jwt.Audience{"randflaked"},
			Expiry:   jwt.NewNumericDate(time.Now().Add(time.Hour)),
		}).Serialize()
		must(t, err)
		r, err := http.NewRequest(http.MethodPost, p.url+mintPath, strings.NewReader(mintOne))
		must(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	first, second := "first", "second"
	served.Store(&first)
	require.Equal(t, call(first), http.StatusOK, "a call with the first key: status")
	served.Store(&second)
	for end := time.Now().Add(5 * time.Minute); call(second) != http.StatusOK; time.Sleep(time.Second) {
		require.Must(t, !time.Now().After(end), "the second key is never fetched")
	}
	require.Equal(t, call(first), http.StatusUnauthorized, "a call with the key that was withdrawn: status")
}
