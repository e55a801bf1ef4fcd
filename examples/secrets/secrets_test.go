package secrets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

// TestSources: fakes of Vault and of the key service, whose encryption is a bitwise complement, give the secret to who may
// have it, and errors do not show it.
func TestSources(t *testing.T) {
	want := randflake.NewSecret()
	file := want.Hex() + "\n"
	complement := func(b []byte) []byte {
		b = bytes.Clone(b)
		for i := range b {
			b[i] = ^b[i]
		}
		return b
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "GET" && r.URL.Path == "/v1/secret/data/orders" && r.Header.Get("X-Vault-Token") == "s.right":
			json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"data": map[string]string{"secret": want.Hex()}, "metadata": map[string]int{"version": 2}}})
		case r.URL.Path == "/v1/secret/data/empty":
			io.WriteString(w, `{"data": {"data": {}}}`)
		case r.Method == "POST" && strings.HasSuffix(r.URL.Path, "/cryptoKeys/orders:decrypt"):
			var asked struct{ Ciphertext []byte }
			if json.NewDecoder(r.Body).Decode(&asked) != nil || !bytes.Equal(asked.Ciphertext, complement([]byte(file))) {
				http.Error(w, "wrong ciphertext", http.StatusBadRequest)
				return
			}
			json.NewEncoder(w).Encode(map[string][]byte{"plaintext": complement(asked.Ciphertext)})
		default:
			http.Error(w, fmt.Sprintf("permission denied: %s", want.Hex()), http.StatusForbidden)
		}
	}))
	defer server.Close()
	vault, key := server.URL+"/v1/secret/data/", server.URL+"/v1/projects/shop/locations/global/keyRings/ids/cryptoKeys/orders:decrypt"
	for name, c := range map[string]struct {
		from func() (randflake.Secret, error)
		err  string
	}{
		"vault": {func() (randflake.Secret, error) {
			return FromVault(t.Context(), server.Client(), vault+"orders", "s.right")
		}, ""},
		"wrong token": {func() (randflake.Secret, error) {
			return FromVault(t.Context(), server.Client(), vault+"orders", "s.wrong")
		}, "403"},
		"no field": {func() (randflake.Secret, error) {
			return FromVault(t.Context(), server.Client(), vault+"empty", "s.right")
		}, "no field"},
		"kms": {func() (randflake.Secret, error) {
			return FromKMS(t.Context(), server.Client(), key, complement([]byte(file)))
		}, ""},
		"other ciphertext": {func() (randflake.Secret, error) { return FromKMS(t.Context(), server.Client(), key, []byte(file)) }, "400"},
	} {
		got, err := c.from()
		switch {
		case c.err == "" && (err != nil || !got.Equal(want)):
			t.Errorf("%s: not the secret: %v", name, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), want.Hex()[:32])):
			t.Errorf("%s: %v, want %s", name, err, c.err)
		}
	}
}
