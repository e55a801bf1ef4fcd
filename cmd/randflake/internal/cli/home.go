package cli

import (
	"cmp"
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

// A home is the place of a space and, for Randflake IDs, of its secret. Flags name them, or else
// the environment, or else they are in the state directory.
type home struct {
	noSecret  bool         // the space is for Snowflake IDs
	nodes     uint32       // that a space for them has in the state directory
	store     string       // as flag or environment name it, or ""
	at        url.Location // of the store
	space     string       // as the store's name says it, or ""
	secret    secretSource
	ownSecret bool // no secret was named: it is in the directory of the store
	implied   bool // neither a store nor a secret was named
}

// locate finds the store and the secret, where the flags don't name them:
//
//  1. The environment names the store.
//  2. The environment names the secret. But a directory that --store names has its own: that of the environment
//     belongs to another store.
//  3. The store is in the state directory.
//  4. The secret is in the directory of the store, if it has one.
func (h *home) locate() error {
	byFlag := h.store != ""
	if err := h.locateNamed(); err != nil {
		return err
	}
	hasOwn := byFlag && h.at.Dir != ""
	if !h.noSecret && !hasOwn {
		if err := h.secret.askEnvironment(); err != nil {
			return err
		}
	}
	h.implied = h.store == "" && !h.secret.known()
	if h.store == "" {
		if err := h.locateState(); err != nil {
			return err
		}
	}
	if !h.noSecret && h.at.Dir != "" && !h.secret.known() {
		h.secret.file = secretIn(h.at.Dir, h.space)
		h.ownSecret = true
	}
	return nil
}

// secretIn returns the file of the secret of a space in a directory. Each space has its own, as two
// spaces of one secret would grant the same nodes.
func secretIn(dir, space string) string {
	if space == "" || space == "default" {
		return filepath.Join(dir, "secret")
	}
	return filepath.Join(dir, space+".secret")
}

// locateNamed finds the store that the flag or else the environment names, if one does.
func (h *home) locateNamed() (err error) {
	if h.store == "" {
		h.store, err = url.FromEnvironment()
	}
	if err != nil || h.store == "" {
		return err
	}
	h.at, h.space, err = url.Parse(h.store)
	if err == nil {
		err = lease.Config{Name: h.space}.Check()
	}
	if err != nil || h.at.Dir == "" {
		return err
	}
	info, err := os.Stat(h.at.Dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("store %s is a file: want a directory, or sqlite:%s", h.at, h.at)
	}
	return nil
}

// locateState finds the store in the state directory.
func (h *home) locateState() (err error) {
	name := "default"
	if h.noSecret {
		// Layouts that can make the same ID have equally many workers: they share this space, with
		// others, which does no harm.
		name = fmt.Sprintf("snowflake-%d", h.nodes)
	}
	h.at.Dir, err = local.Dir(name)
	if err != nil {
		return fmt.Errorf("%w: name a store with --store", err)
	}
	return nil
}

// operand returns the store for a command line that an error proposes: with the space that its name
// says, and without passwords.
func (h *home) operand() string {
	name := cmp.Or(h.store, h.at.Dir)
	if h.at.URL != "" {
		name = (url.Location{URL: h.store}).String()
	}
	if strings.Contains(name, "?") {
		return "'" + name + "'"
	}
	return name
}

// readSecret reads the secret. It does not make one.
func (h *home) readSecret() (randflake.Secret, error) {
	if !h.secret.known() {
		return randflake.Secret{}, fmt.Errorf("no secret: %s is not a directory that could contain one: "+
			"name its file with --secret-file, or set %s", h.at, secretVariable)
	}
	return h.secret.read()
}

// findSecret finds the secret and reads it. One that is named needs no store.
func (h *home) findSecret() (randflake.Secret, error) {
	if err := h.locate(); err != nil && !h.secret.known() {
		return randflake.Secret{}, err
	}
	return h.readSecret()
}

// hasNoSecret reports whether err of findSecret says that there is no secret for this user, and not that one is broken.
func (h *home) hasNoSecret(err error) bool {
	switch {
	case h.ownSecret:
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	case h.secret.known():
		return false // it was named, and can't be read
	}
	return h.implied || h.at.URL != "" // otherwise the store is wrong
}
