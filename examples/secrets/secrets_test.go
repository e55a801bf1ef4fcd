package secrets

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/randflake/randflake"
)

// TestSources: fakes of Vault and of the key service give the secret to who may
// have it, and errors do not show it.
func TestSources(t *testing.T) {
	want := randflake.NewSecret()
	file := want.Hex() + "\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == "GET" && r.URL.Path == "/vault/orders" && r.Header.Get("X-Vault-Token") == "s.right":
			fmt.Fprintf(w, `{"data": {"data": {"secret": %q}, "metadata": {"version": 2}}}`, want.Hex())
		case r.URL.Path == "/vault/empty":
			io.WriteString(w, `{"data": {"data": {}}}`)
		case r.Method == "POST" && r.URL.Path == "/kms/orders:decrypt":
			var asked struct{ Ciphertext []byte }
			if json.NewDecoder(r.Body).Decode(&asked) != nil || string(asked.Ciphertext) != "encrypted "+file {
				http.Error(w, "wrong ciphertext", http.StatusBadRequest)
				return
			}
			json.NewEncoder(w).Encode(map[string][]byte{"plaintext": asked.Ciphertext[len("encrypted "):]})
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

	given := func(got randflake.Secret, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("another secret, or none: %v", err)
		}
	}
	given(vault("orders", "s.right"))
	given(kms([]byte("encrypted " + file)))

	refused := func(says string) func(randflake.Secret, error) {
		return func(_ randflake.Secret, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), want.Hex()) {
				t.Errorf("%v, want %q", err, says)
			}
		}
	}
	refused("403")(vault("orders", "s.wrong"))
	refused("no field")(vault("empty", "s.right"))
	refused("400")(kms([]byte(file)))
}
