package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/mask"
	"github.com/randflake/randflake/snowflake"
)

// An OrderID is a Snowflake ID in the database and a masked one everywhere else.
type OrderID = mask.ID[orders, snowflake.ID]

// orders is the space of order IDs, and gives them their prefix. Customers would have another, with a secret of its own.
type orders struct{}

var (
	layout      = snowflake.Twitter()
	orderMasker *mask.Masker[snowflake.ID] // set by open, before anything is served
)

func (orders) Masker() *mask.Masker[snowflake.ID] { return orderMasker }
func (orders) IDPrefix() string                   { return "ord" }

// newMasker returns what masks order IDs under a secret.
func newMasker(secret randflake.Secret) *mask.Masker[snowflake.ID] {
	return &mask.Masker[snowflake.ID]{Cipher: randflake.NewCipher(secret), Check: inThePast}
}

// inThePast refuses what was made in the future, as nearly all made-up IDs were: those need no query then.
func inThePast(id snowflake.ID) error {
	parts, err := layout.Inspect(id)
	if err == nil && parts.Time.After(time.Now().Add(time.Minute)) {
		err = errors.New("made in the future")
	}
	return err
}

// secret returns the secret of the order IDs: from the environment or from a file in dir, which it
// makes when there is none. Who loses the secret loses every link to an order.
func secret(dir string) (randflake.Secret, error) {
	if text := os.Getenv("ORDERS_SECRET"); text != "" {
		return randflake.ParseSecret(text)
	}
	name := filepath.Join(dir, "secret")
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(name)
		if err != nil {
			return randflake.Secret{}, err
		}
		return randflake.ParseSecret(string(text))
	}
	if err != nil {
		return randflake.Secret{}, err
	}
	made := randflake.NewSecret()
	_, err = file.WriteString(made.Hex())
	return made, errors.Join(err, file.Sync(), file.Close())
}
