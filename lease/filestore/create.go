package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/randflake/randflake/lease/internal/setup"
)

// Create makes a new store in dir, which may exist; its parent must. It fails with an error that
// wraps fs.ErrExist when dir holds a store already, or a part of one.
//
// A new store can't know what an earlier one granted for the same secret, so it grants nothing
// that starts before [lease.Rules.NotBefore]: with the default rules, generators wait for
// eleven minutes. The rules must be at least as wide as those of any store that the secret had
// before, since they say how far the leases of that one may reach. Where there was no earlier store,
// [ForNewSecret] drops that wait.
//
// A Create that fails takes back what it did and may be called again. One that is cut short by a
// crash may leave a part of a store, which Open and Create both refuse; as no lease was granted
// from it, the directory may then be removed.
func Create(dir string, opts ...Option) (*Store, error) {
	return createOn(osFiles{}, dir, opts)
}

func createOn(fsys files, dir string, opts []Option) (*Store, error) {
	o, err := settle(setup.ForCreate(opts))
	if err != nil {
		return nil, err
	}
	s, err := newStore(fsys, dir, o)
	if err != nil {
		return nil, err
	}
	st, err := firstState(o)
	if err != nil {
		return nil, fmt.Errorf("filestore: create %s: %w", s.dir, err)
	}
	mkdirErr := fsys.mkdir(s.dir)
	if mkdirErr != nil && !errors.Is(mkdirErr, fs.ErrExist) {
		return nil, fmt.Errorf("filestore: create: %w", mkdirErr)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	unlock, err := fsys.lock(ctx, s.path(lockName), true)
	if err != nil {
		return nil, fmt.Errorf("filestore: create: %w", err)
	}
	defer unlock()
	if err := s.vacant(); err != nil {
		return nil, err
	}
	if err := s.found(st); err != nil {
		s.unmake(mkdirErr == nil)
		return nil, fmt.Errorf("filestore: create: %w", err)
	}
	return s, nil
}

// firstState returns the state of a new store.
func firstState(o setup.Options) (state, error) {
	m, err := o.New(o.Clock().Unix())
	return state{incarnation: m.Incarnation, revision: 1, rules: m.Rules, notBefore: m.NotBefore}, err
}

// vacant returns an error that wraps fs.ErrExist unless the directory holds neither file.
func (s *Store) vacant() error {
	for _, name := range []string{stateName, incarnationName} {
		_, err := s.files.read(s.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("filestore: create: %w: %w", fs.ErrExist, err)
		}
		return fmt.Errorf("filestore: create: %s: %w: a store is never replaced: use Open, or another directory", s.path(name), fs.ErrExist)
	}
	return nil
}

// found writes the files of a new store. The state comes last, when all else is durable: where
// there is a state, there is a complete store.
func (s *Store) found(st state) error {
	if err := s.replace(incarnationName, marker(st.incarnation)); err != nil {
		return err
	}
	if err := s.files.syncDir(s.dir); err != nil {
		return err
	}
	// The parent may be closed to this user if the directory was made by somebody else.
	if err := s.files.syncDir(filepath.Dir(s.dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	content := encode(st)
	if err := s.replace(stateName, content); err != nil {
		return err
	}
	if err := s.files.syncDir(s.dir); err != nil {
		return err
	}
	s.wrote(st, content)
	return nil
}

// unmake takes back what found wrote, as far as it can, which is safe because nobody was granted
// anything. It removes the directory as well if Create made it, because one whose sync failed must
// be made anew.
func (s *Store) unmake(dirToo bool) {
	s.files.remove(s.path(stateName))
	s.files.remove(s.path(incarnationName))
	if dirToo {
		s.files.remove(s.path(lockName))
		s.files.remove(s.dir)
	}
}
