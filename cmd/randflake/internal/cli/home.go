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

// A home says where the secret and the space are.
type home struct {
	nodes     uint32 // of the space of Snowflake IDs, which have no secret; 0 for Randflake IDs
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
		if h.store, err = url.FromEnvironment(); err != nil {
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
	// A secret belongs to its store: ignore the variables if --store names a directory, which has
	// its own secret.
	if h.nodes == 0 && (named == "" || h.at.Dir == "") {
		if err := h.secret.askEnvironment(); err != nil {
			return err
		}
	}
	h.implied = h.store == "" && !h.secret.known()
	if h.store == "" {
		name := "default"
		if h.nodes > 0 {
			// Layouts that make the same IDs have as many workers, so they share this space. Others
			// may share it.
			name = fmt.Sprintf("snowflake-%d", h.nodes)
		}
		if h.at.Dir, err = local.Dir(name); err != nil {
			return fmt.Errorf("%w: name a store with --store", err)
		}
	}
	if !h.secret.known() && h.at.Dir != "" && h.nodes == 0 {
		h.secret.file, h.ownSecret = filepath.Join(h.at.Dir, "secret"), true
	}
	return nil
}

// String returns the store for a command line, with the space that the user named and without
// passwords.
func (h *home) String() string {
	if h.at.URL == "" {
		return h.at.Dir
	}
	if name := (url.Location{URL: h.store}).String(); strings.Contains(name, "?") {
		return "'" + name + "'"
	}
	return h.at.String()
}

// readSecret reads the secret. It does not make one.
func (h *home) readSecret() (randflake.Secret, error) {
	if !h.secret.known() {
		return randflake.Secret{}, fmt.Errorf("no secret: %s is not a directory that could contain one: "+
			"name its file with --secret-file, or set %s", h.at, secretVariable)
	}
	return h.secret.read()
}

// name returns the store, for package url.
func (h *home) name() string { return cmp.Or(h.store, "file:"+h.at.Dir) }

// openSpace opens the space. It does not make one.
func (h *home) openSpace(ctx context.Context) (*lease.Space, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	space, err := url.Open(ctx, h.name(), lease.Config{})
	if !errors.Is(err, lease.ErrNoSpace) {
		return space, err
	}
	if _, missing := os.Stat(h.at.Dir); h.implied && errors.Is(missing, fs.ErrNotExist) { // otherwise what new would find there is damaged
		return nil, fmt.Errorf("no store in %s: the first randflake new makes it, with a secret; "+
			"for another store use --store", h.at)
	}
	// Don't make one: it can't know what a lost one granted for the secret.
	return nil, fmt.Errorf("%w: name a store that has one, or make it: randflake store init %s", err, h)
}

// run returns what a command runs: work on the space that its flags name. What work calls invalid
// is a usage error.
func (h *home) run(work func(ctx context.Context, space *lease.Space, args []string) error) func(*cobra.Command, []string) error {
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
		err = work(ctx, space, args)
		if errors.Is(err, lease.ErrInvalid) {
			return wrong(cmd, "%v", err)
		}
		return err
	}
}

// firstUse makes the state directory, unless it already has contents or the user named a store or
// secret.
func (h *home) firstUse(t *tool) error {
	if !h.implied {
		return nil
	}
	create, what := local.Create, "a new secret and a store in %s: keep the secret, without it the IDs "+
		"can't be decrypted"
	if h.nodes > 0 {
		create = func(dir string) (bool, error) { return local.CreateSpace(dir, lease.Limits{Nodes: h.nodes}) }
		what = "a store for Snowflake IDs in %s: keep it, it prevents repeated IDs"
	}
	made, err := create(h.at.Dir)
	if made {
		fmt.Fprintf(t.stderr, "randflake: made "+what+"\n", h.at.Dir)
	}
	return err
}
