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
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
)

const (
	storeVariable     = "RANDFLAKE_STORE"
	storeFileVariable = "RANDFLAKE_STORE_FILE"
)

// storeTimeout is how long a command waits for a store.
const storeTimeout = 10 * time.Second

// A home is the place of a space and, for Randflake IDs, of its secret. Flags name them, or else
// the environment, or else they are in the state directory.
type home struct {
	nodes     uint32       // of the space, if it is for Snowflake IDs, which have no secret; otherwise 0
	store     string       // as flag or environment name it, or ""
	at        url.Location // of the store
	space     string       // as the store's name says it, or ""
	secret    secretSource
	ownSecret bool // no secret was named: it is in the directory of the store
	implied   bool // neither a store nor a secret was named
}

// locate finds the store and the secret, where the flags don't name them. The secret comes second,
// as it depends on the store.
func (h *home) locate() error {
	byFlag := h.store != ""
	if err := h.locateNamed(); err != nil {
		return err
	}
	// A secret belongs to its store: a directory that --store names has its own, and those of the
	// environment are of another store.
	hasOwn := byFlag && h.at.Dir != ""
	if h.nodes == 0 && !hasOwn {
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
	if h.nodes == 0 && h.at.Dir != "" && !h.secret.known() {
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
	if err != nil {
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
	if h.nodes > 0 {
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

// String returns the store for a command line that an error proposes: with the space that its name
// says, and without passwords.
func (h *home) String() string {
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

// lacksSecret reports whether err of findSecret says that the store has no secret for this user, and not that one is broken.
func (h *home) lacksSecret(err error) bool {
	switch {
	case h.ownSecret:
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	case h.secret.known():
		return false
	}
	return h.implied || h.at.URL != ""
}

// name returns the name of the store, for package url. With a space at its end the state directory
// may have a ? in its own name.
func (h *home) name() string { return cmp.Or(h.store, "file:"+h.at.Dir+"?space=default") }

// openSpace opens the space. It does not make one.
func (h *home) openSpace(ctx context.Context) (*lease.Space, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	space, err := url.Open(ctx, h.name(), lease.Config{})
	if !errors.Is(err, lease.ErrNoSpace) || errors.Is(err, lease.ErrMoving) {
		return space, err
	}
	_, missing := os.Stat(h.at.Dir)
	if h.implied && errors.Is(missing, fs.ErrNotExist) { // a directory without a space is damaged
		return nil, fmt.Errorf("no store in %s: the first randflake new makes it, with a secret; "+
			"for another store use --store", h.at)
	}
	// A space made now can't know what a lost one granted for the secret: init asks the user.
	return nil, fmt.Errorf("%w: name a store that has one, or make it: randflake store init %s", err, h)
}

type runner = func(cmd *cobra.Command, args []string) error

// run returns a runner that opens the space and does some work on it, within storeTimeout. What
// work calls invalid is a usage error.
func (h *home) run(work func(ctx context.Context, space *lease.Space, args []string) error) runner {
	return func(cmd *cobra.Command, args []string) error {
		if err := h.locate(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
		defer cancel()
		space, err := h.openSpace(ctx)
		if err != nil {
			return err
		}
		defer space.Close()
		return asUsage(cmd, work(ctx, space, args))
	}
}

// firstUse makes the state directory, unless it already has contents or the user named a store or
// secret.
func (h *home) firstUse(t *tool) error {
	if !h.implied {
		return nil
	}
	create := local.Create
	what := "a new secret and a store in %s: keep the secret, without it the IDs can't be decrypted"
	if h.nodes > 0 {
		create = func(dir string) (bool, error) {
			return local.CreateSpace(dir, lease.Limits{Nodes: h.nodes})
		}
		what = "a store for Snowflake IDs in %s: keep it, it prevents repeated IDs"
	}
	made, err := create(h.at.Dir)
	if made {
		fmt.Fprintf(t.stderr, "randflake: made "+what+"\n", h.at.Dir)
	}
	return err
}
