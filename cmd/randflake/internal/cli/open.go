package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/local"
	"github.com/randflake/randflake/lease/url"
)

// storeTimeout is how long a command waits for a store.
const storeTimeout = 10 * time.Second

// storeName returns the name of the store for package url. The state directory may have a ? in its own name:
// the space at the end keeps that from being taken for the beginning of the query.
func (h *home) storeName() string { return cmp.Or(h.store, "file:"+h.at.Dir+"?space=default") }

// openSpace opens the space. It does not make one.
func (h *home) openSpace(ctx context.Context) (*lease.Space, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	space, err := url.Open(ctx, h.storeName(), lease.Config{})
	if !errors.Is(err, lease.ErrNoSpace) || errors.Is(err, lease.ErrMoving) {
		return space, err
	}
	_, statErr := os.Stat(h.at.Dir)
	if h.implied && errors.Is(statErr, fs.ErrNotExist) { // a directory without a space is damaged
		return nil, fmt.Errorf("no store in %s: the first randflake new makes it, with a secret; "+
			"for another store use --store", h.at)
	}
	// A space made now can't know what a lost one granted for the secret: init asks the user.
	return nil, fmt.Errorf("%w: name a store that has one, or make it: randflake store init %s", err, h.operand())
}

// run returns the RunE of a command that opens the space and does some work on it, within storeTimeout. What work calls
// invalid is a usage error.
func (h *home) run(
	work func(ctx context.Context, space *lease.Space, args []string) error,
) func(cmd *cobra.Command, args []string) error {
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

// firstUse makes the state directory, unless it already has contents or the user named a store or secret.
func (h *home) firstUse(t *tool) error {
	switch {
	case !h.implied:
		return nil
	case !h.noSecret:
		made, err := local.Create(h.at.Dir)
		if made {
			fmt.Fprintf(t.stderr, "randflake: made a new secret and a store in %s: "+
				"keep the secret, without it the IDs can't be decrypted\n", h.at.Dir)
		}
		return err
	}
	made, err := local.CreateSpace(h.at.Dir, lease.Limits{Nodes: h.nodes})
	if made {
		fmt.Fprintf(t.stderr, "randflake: made a store for Snowflake IDs in %s: "+
			"keep it, it prevents repeated IDs\n", h.at.Dir)
	}
	return err
}
