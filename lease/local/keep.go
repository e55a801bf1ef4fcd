// Package local makes IDs on one machine without any setup. The secret and the space are in a
// directory of the user, and another directory means another secret. So if several machines share a
// kind of ID, or a container has no volume, use [lease.Keep] instead.
//
//	keeper, err := local.Keep(ctx, "shop")
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

	"github.com/randflake/randflake"
	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/file"
)

// A Keeper is a [lease.Keeper] with a space of its own.
type Keeper struct {
	*lease.Keeper[*randflake.Generator]
	space *lease.Space
}

// Keep keeps a generator in leases whose IDs belong to name, for instance the name of a program. At
// first use it makes the secret and the space, in the directory that [Dir] returns, and logs that:
// as a warning where the directory is lost at the end, as in a container without a volume. All
// processes of this user that pass the same name share them, and their IDs never repeat.
//
// The secret is in the file "secret" of that directory. Without it the IDs can't be opened. Keep
// the directory as a whole: if it is removed, a new series of IDs begins. If it is restored from a
// backup, run randflake store report-loss DIR before a program uses it.
//
// The errors are those of [Dir], [Create], [ReadSecret] and [lease.Keep], and lease.ErrNoSpace if
// the directory has a secret but no space. The keeper holds a goroutine until it is closed.
func Keep(ctx context.Context, name string, options ...lease.Option) (*Keeper, error) {
	dir, err := Dir(name)
	if err != nil {
		return nil, err
	}
	made, err := Create(dir)
	if err != nil {
		return nil, err
	}
	if made {
		logMade(dir)
	}
	secret, err := ReadSecret(filepath.Join(dir, secretName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has something else in it: "+
			"put the secret back, or empty the directory to start over", err, dir)
	}
	if err != nil {
		return nil, err
	}
	engine, err := file.New(dir)
	if err != nil {
		return nil, err
	}
	space, err := lease.Open(ctx, engine, lease.Config{})
	if err != nil {
		return nil, err
	}
	keeper, err := lease.Keep(ctx, space, secret, options...)
	if err != nil {
		return nil, err
	}
	return &Keeper{keeper, space}, nil
}

// logMade says that a secret and a space were made in dir, and what to do about it.
func logMade(dir string) {
	level := slog.LevelInfo
	advice := "keep the secret, only it opens its IDs"
	if vanishes(dir) {
		level = slog.LevelWarn
		advice = "they are gone after the next start, and then nobody can open these IDs: " +
			"mount a volume there, or use lease.Keep"
	}
	slog.Log(context.Background(), level, "randflake: made a new secret and a space: "+advice, "directory", dir)
}

// Close closes the generator and ends the keeper, as [lease.Keeper.Close] does, and closes the
// space.
func (k *Keeper) Close() error { return errors.Join(k.Keeper.Close(), k.space.Close()) }
