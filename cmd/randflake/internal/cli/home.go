package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/store"
)

const (
	storeVariable     = "RANDFLAKE_STORE"
	storeFileVariable = "RANDFLAKE_STORE_FILE"
)

// A home says where the secret and the store are.
type home struct {
	space     string   // of IDs that have no secret; empty for Randflake IDs
	store     string   // as the user named it
	at        location // of the store
	secret    secretSource
	ownSecret bool // the user named no secret: it is in the store's directory
	implied   bool // the user named neither a store nor a secret
}

// resolve fills in what the user did not name. Call it before anything is read, written or changed: if the store needs
// the full program, the light program hands over to it here.
func (h *home) resolve(t *tool) error {
	err := h.locate()
	if err == nil && h.at.URL != "" {
		h.at.servers, err = t.needServers()
	}
	return err
}

// locate is resolve for a command that needs the secret but not the store.
func (h *home) locate() (err error) {
	named := h.store
	if h.store == "" {
		if h.store, err = storeInEnvironment(); err != nil {
			return err
		}
	}
	if h.store != "" {
		if h.at.Location, err = store.ParseLocation(h.store); err != nil {
			return err
		}
		if info, err := os.Stat(h.at.Dir); err == nil && !info.IsDir() {
			return fmt.Errorf("store %s is a file: want a directory", h.at)
		}
	}
	// A secret belongs to its store: ignore the variables if --store names a directory, which has its own secret.
	if h.space == "" && (named == "" || h.at.Dir == "") {
		if err := h.secret.askEnvironment(); err != nil {
			return err
		}
	}
	if h.implied = h.store == "" && !h.secret.known(); h.store == "" {
		if h.at.Dir, err = h.stateDir(); err != nil {
			return fmt.Errorf("%w: name a store with --store", err)
		}
	}
	if !h.secret.known() && h.at.Dir != "" && h.space == "" {
		h.secret.file, h.ownSecret = filepath.Join(h.at.Dir, "secret"), true
	}
	return nil
}

// storeInEnvironment returns the name of the store in a variable, or in the file that another variable names, or "".
func storeInEnvironment() (string, error) {
	name, err := nameIn(storeVariable)
	file, fileErr := nameIn(storeFileVariable)
	switch {
	case err != nil || fileErr != nil || file == "":
		return name, cmp.Or(err, fileErr)
	case name != "":
		return "", fmt.Errorf("%s and %s are both set: want one of them", storeVariable, storeFileVariable)
	}
	text, err := os.ReadFile(file)
	if name = strings.TrimSpace(string(text)); err == nil && name == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("%s: want a file that contains the name of a store: %s: %w", storeFileVariable, file, err)
	}
	return name, nil
}

// stateDir returns the directory for Randflake IDs, with secret and store, or for an ID space without a secret.
func (h *home) stateDir() (string, error) {
	if h.space == "" {
		return local.Dir("default")
	}
	return local.Dir("snowflake-" + h.space)
}

// open returns the secret and the store. If the user named neither, it makes both at first use.
func (h *home) open(ctx context.Context, t *tool) (randflake.Secret, *store.Space, error) {
	if err := h.firstUse(t); err != nil {
		return randflake.Secret{}, nil, err
	}
	secret, err := h.readSecret()
	if err != nil {
		return secret, nil, err
	}
	space, err := h.openStore(ctx)
	return secret, space, err
}

// readSecret reads the secret. It does not make one.
func (h *home) readSecret() (randflake.Secret, error) {
	if !h.secret.known() {
		return randflake.Secret{}, fmt.Errorf("no secret: %s is not a directory that could contain one: name its file with --secret-file, or set %s", h.at, secretVariable)
	}
	return h.secret.read()
}

// keys returns the keys of the secret. There are none, which stands for any secret, if there is no secret and none is
// required.
func (h *home) keys() (store.Keys, error) {
	if !h.secret.known() {
		return nil, nil
	}
	secret, err := h.secret.read()
	if errors.Is(err, fs.ErrNotExist) && h.ownSecret {
		return nil, nil
	}
	return store.KeysOf(secret), err
}

// openStore opens the store. It does not make one.
func (h *home) openStore(ctx context.Context, options ...store.Option) (*store.Space, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	space, err := h.at.open(ctx, options...)
	if errors.Is(err, store.ErrNoStore) && h.implied && h.space == "" {
		if _, missing := os.Stat(h.at.Dir); errors.Is(missing, fs.ErrNotExist) { // otherwise what new would find there is damaged
			return nil, fmt.Errorf("no store in %s: the first randflake new makes it, with a secret; for another store use --store", h.at)
		}
	}
	if errors.Is(err, store.ErrNoStore) {
		// Don't make one: a new store can't know what a lost store granted for the secret.
		return nil, fmt.Errorf("no store in %s: name one with --store, or make one (its first lease starts after a safety delay): randflake lease init --store %s", h.at, h.at)
	}
	return space, err
}

// firstUse makes the state directory, unless it already has contents or the user named a store or secret.
func (h *home) firstUse(t *tool) error {
	if !h.implied {
		return nil
	}
	create, what := local.Create, "a new secret and a store in %s: keep the secret, without it the IDs can't be decrypted"
	if h.space != "" {
		create, what = local.CreateStore, "a store for "+h.space+" IDs in %s: keep it, it prevents repeated IDs"
	}
	made, err := create(h.at.Dir)
	if made {
		fmt.Fprintf(t.stderr, "randflake: made "+what+"\n", h.at.Dir)
	}
	return err
}
