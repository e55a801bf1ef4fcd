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
		case r.Method == "GET" && r.URL.Path == "/vault/orders" && r.Header.Get("X-Vault-Token") == "s.right":
			fmt.Fprintf(w, `{"data": {"data": {"secret": %q}, "metadata": {"version": 2}}}`, want.Hex())
		case r.URL.Path == "/vault/empty":
			io.WriteString(w, `{"data": {"data": {}}}`)
		case r.Method == "POST" && r.URL.Path == "/kms/orders:decrypt":
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
	vault := func(entry, token string) (randflake.Secret, error) {
		return FromVault(t.Context(), server.Client(), server.URL+"/vault/"+entry, token)
	}
	kms := func(ciphertext []byte) (randflake.Secret, error) {
		return FromKMS(t.Context(), server.Client(), server.URL+"/kms/orders:decrypt", ciphertext)
	}
	check := func(says string, got randflake.Secret, err error) {
		t.Helper()
		if says == "" && (err != nil || !got.Equal(want)) || says != "" && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), want.Hex())) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	got, err := vault("orders", "s.right")
	check("", got, err)
	got, err = vault("orders", "s.wrong")
	check("403", got, err)
	got, err = vault("empty", "s.right")
	check("no field", got, err)
	got, err = kms(complement([]byte(file)))
	check("", got, err)
	got, err = kms([]byte(file))
	check("400", got, err)
}
