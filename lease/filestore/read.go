package filestore

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/randflake/randflake/lease"
)

// advice ends each error about a store that can't be trusted.
const advice = "nothing was changed; don't put an older copy back unless Distrust is called before anything else uses it, for it may grant leases twice: create a new store in another directory, not as one for a new secret, and keep the secret if it is here"

// corrupt returns an error that wraps lease.ErrCorrupt.
func corrupt(path, what string) error {
	return fmt.Errorf("filestore: %s: %s: %w: %s", path, what, lease.ErrCorrupt, advice)
}

// A sighting is what a Store remembers of a state.
type sighting struct {
	incarnation [16]byte
	revision    uint64
	sum         [sumSize]byte
	healed      int // how often this Store set the floor before it saw the state
}

// canPrecede reports whether st may be what became of the state of v.
func (v sighting) canPrecede(st state) bool {
	switch {
	case v.revision == 0: // nothing was seen yet
		return true
	case v.incarnation != st.incarnation || v.revision > st.revision:
		return false
	}
	return v.revision < st.revision || v.sum == st.sum
}

// peek reads the state without the lock, which is enough as renames are atomic. It takes the lock
// where they are not, and to see a fault twice before it reports it: the files of a store that is
// just being created, or removed, don't belong together.
func (s *Store) peek(ctx context.Context) (state, error) {
	var unlocked error
	if !readersLock {
		var st state
		if st, unlocked = s.read(); unlocked == nil {
			return st, nil
		}
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return state{}, cmp.Or(unlocked, err)
	}
	defer unlock()
	return s.read()
}

// read loads the state and compares it with the newest one seen before.
func (s *Store) read() (state, error) {
	s.mu.Lock()
	before := s.seen
	s.mu.Unlock()
	st, err := s.load()
	if err != nil {
		return state{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if before.healed != s.seen.healed {
		return st, nil // heal dealt with what before knew
	}
	if !before.canPrecede(st) {
		s.rolledBack = true
	}
	if !s.rolledBack && st.revision > s.seen.revision {
		s.seen = sighting{st.incarnation, st.revision, st.sum, s.seen.healed}
	}
	return st, nil
}

// load reads and checks the two files.
func (s *Store) load() (state, error) {
	content, stateErr := s.files.read(s.path(stateName))
	token, tokenErr := s.files.read(s.path(incarnationName))
	noState, noToken := errors.Is(stateErr, fs.ErrNotExist), errors.Is(tokenErr, fs.ErrNotExist)
	switch {
	case noState && noToken:
		return state{}, fmt.Errorf("filestore: %s: %w: filestore.Create makes one", s.dir, lease.ErrNoStore)
	case noState:
		return state{}, corrupt(s.path(stateName), "is missing: if the store was just being created, remove the files incarnation and lock, and those alone, and create it again; else it was lost")
	case noToken:
		return state{}, corrupt(s.path(incarnationName), "is missing: it was lost, or is still where the state was copied from")
	case stateErr != nil:
		return state{}, fmt.Errorf("filestore: read: %w", stateErr)
	case tokenErr != nil:
		return state{}, fmt.Errorf("filestore: read: %w", tokenErr)
	}
	st, err := decode(content)
	if err != nil {
		return state{}, corrupt(s.path(stateName), err.Error())
	}
	if string(token) != string(marker(st.incarnation)) {
		return state{}, corrupt(s.path(incarnationName), fmt.Sprintf("%.40q is not the state's token, %x: the files are of different stores", token, st.incarnation))
	}
	return st, nil
}

// marker returns the content of the incarnation file.
func marker(incarnation [16]byte) []byte {
	return append(hex.AppendEncode(nil, incarnation[:]), '\n')
}
