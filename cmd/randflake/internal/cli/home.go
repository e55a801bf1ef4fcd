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
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
)

const (
	storeVariable     = "RANDFLAKE_STORE"
	storeFileVariable = "RANDFLAKE_STORE_FILE"
)

// A home says where the secret and the space are.
type home struct {
	space     string // of IDs that have no secret; empty for Randflake IDs
	store     string // as the user named it
	at        url.Location
	secret    secretSource
	ownSecret bool // the user named no secret: it is in the store's directory
	implied   bool // the user named neither a store nor a secret
}

// locate fills in what the user did not name.
func (h *home) locate() (err error) {
	named := h.store
	if h.store == "" {
		if h.store, err = storeInEnvironment(); err != nil {
			return err
		}
	}
	if h.store != "" {
		if h.at, _, err = url.Parse(h.store); err != nil {
			return err
		}
		if info, err := os.Stat(h.at.Dir); err == nil && !info.IsDir() {
			return fmt.Errorf("store %s is a file: want a directory, or sqlite:%s", h.at, h.at)
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

// String returns the store for a command line, with the space that the user named and without passwords.
func (h *home) String() string {
	if h.at.URL == "" {
		return h.at.Dir
	}
	if name := (url.Location{URL: h.store}).String(); strings.Contains(name, "?") {
		return "'" + name + "'"
	}
	return h.at.String()
}

// stateDir returns the directory for Randflake IDs, with secret and space, or for IDs without a secret.
func (h *home) stateDir() (string, error) {
	if h.space == "" {
		return local.Dir("default")
	}
	return local.Dir("snowflake-" + h.space)
}

// readSecret reads the secret. It does not make one.
func (h *home) readSecret() (randflake.Secret, error) {
	if !h.secret.known() {
		return randflake.Secret{}, fmt.Errorf("no secret: %s is not a directory that could contain one: name its file with --secret-file, or set %s", h.at, secretVariable)
	}
	return h.secret.read()
}

// open opens or creates the space.
func (h *home) open(ctx context.Context, how func(context.Context, string, lease.Config) (*lease.Space, error)) (*lease.Space, error) {
	name := h.store
	if name == "" {
		name = "file:" + h.at.Dir
	}
	return how(ctx, name, lease.Config{})
}

// openSpace opens the space. It does not make one.
func (h *home) openSpace(ctx context.Context) (*lease.Space, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	space, err := h.open(ctx, url.Open)
	if !errors.Is(err, lease.ErrNoSpace) {
		return space, err
	}
	if _, missing := os.Stat(h.at.Dir); h.implied && h.space == "" && errors.Is(missing, fs.ErrNotExist) { // otherwise what new would find there is damaged
		return nil, fmt.Errorf("no store in %s: the first randflake new makes it, with a secret; for another store use --store", h.at)
	}
	// Don't make one: it can't know what a lost one granted for the secret.
	return nil, fmt.Errorf("%w: name a store that has one, or make it: randflake store init %s", err, h)
}

// firstUse makes the state directory, unless it already has contents or the user named a store or secret. It has room for
// that many nodes.
func (h *home) firstUse(t *tool, nodes uint32) error {
	if !h.implied {
		return nil
	}
	create, what := local.Create, "a new secret and a store in %s: keep the secret, without it the IDs can't be decrypted"
	if h.space != "" {
		create = func(dir string) (bool, error) { return local.CreateSpace(dir, lease.Limits{Nodes: nodes}) }
		what = "a store for " + h.space + " IDs in %s: keep it, it prevents repeated IDs"
	}
	made, err := create(h.at.Dir)
	if made {
		fmt.Fprintf(t.stderr, "randflake: made "+what+"\n", h.at.Dir)
	}
	return err
}
