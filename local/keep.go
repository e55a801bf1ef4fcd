// Package local makes IDs on one machine without any setup. It is not for several machines that share a kind of ID, nor
// for containers without a volume: the secret and the store are in a directory of the user's, and who has another
// directory has another secret. For those there is [lease.Keep].
//
//	keeper, err := local.Keep("shop")
//	id, err := keeper.Generator().Generate()
//	err = keeper.Close()
package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/store"
	"github.com/randflake/randflake/store/filestore"
)

// leaseTimeout is how long taking a lease may take. A directory answers within milliseconds.
const leaseTimeout = 30 * time.Second

// A Keeper is a [lease.Keeper] with a store of its own.
type Keeper struct {
	*lease.Keeper[*randflake.Generator]
	store *store.Space
}

// Keep keeps a lease for a generator whose IDs belong to name, the name of a program for instance. It makes the secret
// and the store at first use, in the directory that [Dir] tells, and says so in the log; from then on each process of
// this user that names the same shares them, and their IDs never repeat.
//
// The secret is in the file "secret" of that directory. Without it nobody can open the IDs, and a directory that is
// removed or put back from a backup begins a new series of IDs or repeats leases: keep both as a whole.
//
// The errors are those of [Dir], [Create], [ReadSecret] and [lease.Keep], and store.ErrNoStore when the directory has
// a secret and no store. The keeper holds a goroutine, the lease and the store until it is closed.
func Keep(name string, options ...lease.Option) (*Keeper, error) {
	dir, err := Dir(name)
	if err != nil {
		return nil, err
	}
	made, err := Create(dir)
	if err != nil {
		return nil, err
	}
	if made {
		slog.Info("randflake: made a new secret and a store: keep the secret, only it opens its IDs", "directory", dir)
	}
	secret, err := ReadSecret(filepath.Join(dir, secretName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has something else in it: put the secret back, or empty the directory to start over", err, dir)
	}
	if err != nil {
		return nil, err
	}
	space, err := filestore.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("randflake: %s: %w", dir, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseTimeout)
	defer cancel()
	keeper, err := lease.Keep(ctx, lease.On(space), secret, options...)
	if err != nil {
		return nil, errors.Join(err, space.Close())
	}
	return &Keeper{keeper, space}, nil
}

// Close gives the lease back, as [lease.Keeper.Close] does, and closes the store.
func (k *Keeper) Close() error { return errors.Join(k.Keeper.Close(), k.store.Close()) }
