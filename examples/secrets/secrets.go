// Package secrets reads a secret, with all of its keys, from Vault or from a key service: once, at
// the start. Making IDs needs no calls of either.
package secrets

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/randflake/randflake"
)

// FromVault reads the field "secret" of an entry of Vault's key-value store, version 2: the lines
// of a secret file. url is that of the entry, such as https://vault:8200/v1/secret/data/orders, and
// token one that may read it.
func FromVault(ctx context.Context, client *http.Client, url, token string) (randflake.Secret, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return randflake.Secret{}, err
	}
	request.Header.Set("X-Vault-Token", token)
	var answer struct {
		Data struct {
			Data struct {
				Secret randflake.Secret `json:"secret"`
			} `json:"data"`
		} `json:"data"`
	}
	if err := do(client, request, &answer); err != nil {
		return randflake.Secret{}, fmt.Errorf("read the secret from Vault: %w", err)
	}
	if answer.Data.Data.Secret.IsZero() {
		return randflake.Secret{}, fmt.Errorf("read the secret from Vault: the entry has no field %q", "secret")
	}
	return answer.Data.Data.Secret, nil
}

// FromKMS lets Google Cloud KMS decrypt the lines of a secret file. url is that of the key's
// decrypt method, such as
// https://cloudkms.googleapis.com/v1/projects/shop/locations/global/keyRings/ids/cryptoKeys/orders:decrypt.
// The client adds the credentials, as one of golang.org/x/oauth2/google does.
func FromKMS(ctx context.Context, client *http.Client, url string, ciphertext []byte) (randflake.Secret, error) {
	body, err := json.Marshal(map[string][]byte{"ciphertext": ciphertext}) // in base64
	if err != nil {
		return randflake.Secret{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return randflake.Secret{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	var answer struct {
		Plaintext string `json:"plaintext"`
	}
	if err := do(client, request, &answer); err != nil {
		return randflake.Secret{}, fmt.Errorf("decrypt the secret: %w", err)
	}
	text, err := base64.StdEncoding.DecodeString(answer.Plaintext)
	if err != nil {
		return randflake.Secret{}, errors.New("decrypt the secret: the plaintext is not base64")
	}
	defer clear(text)
	return randflake.ParseSecret(string(bytes.TrimSpace(text)))
}

// do sends a request and reads the JSON of its answer. Its errors have none of it, as that may be the secret.
func do(client *http.Client, request *http.Request, answer any) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
