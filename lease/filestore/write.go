package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// lock waits for the exclusive lock of the directory, first among the goroutines of this handle.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release, err := s.files.lock(ctx, s.path(lockName), false)
	if err != nil {
		<-s.turn
		return nil, s.explainLock(err)
	}
	return func() { release(); <-s.turn }, nil
}

// explainLock says more when there is no lock file: most likely there is no store either.
func (s *Store) explainLock(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("filestore: lock: %w", err)
	}
	if _, err := s.load(); err != nil {
		return err
	}
	return corrupt(s.path(lockName), "is missing: once no process uses the store, make it anew as an empty file")
}

// heal sets the floor if the directory went back in time since this Store saw it last: nothing
// is granted before every lease that was forgotten has ended. It runs under the lock.
func (s *Store) heal(st *state, now int64) error {
	s.mu.Lock()
	rolledBack, newest := s.rolledBack, s.seen.revision
	s.mu.Unlock()
	if !rolledBack {
		return nil
	}
	if err := st.distrust(now); err != nil {
		return fmt.Errorf("filestore: %s went back in time: %w", s.dir, err)
	}
	st.revision = max(st.revision, newest) + 1
	if err := s.write(*st); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rolledBack = false
	s.seen.healed++
	return nil
}

// write stores st durably. When it fails before the rename the old state stays; when it fails
// after, st may or may not outlive a crash.
func (s *Store) write(st state) error {
	content := encode(st)
	if err := s.replace(stateName, content); err != nil {
		return fmt.Errorf("filestore: write: %w", err)
	}
	if err := s.files.syncDir(s.dir); err != nil {
		return fmt.Errorf("filestore: write: sync %s: outcome unknown: %w", s.dir, err)
	}
	s.wrote(st, content)
	return nil
}

// wrote notes that the directory holds st now, whose encoding is content.
func (s *Store) wrote(st state, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = sighting{st.incarnation, st.revision, sumOf(content), s.seen.healed}
}

// replace puts content in place of the file name, atomically: a crash leaves the old content or
// the new. The directory is not synced yet. It runs under the lock, so that the temporary file
// can only be one that a crash left behind.
func (s *Store) replace(name string, content []byte) error {
	path := s.path(name)
	temp := path + tempSuffix
	f, err := s.files.create(temp)
	if errors.Is(err, fs.ErrExist) {
		if err := s.files.remove(temp); err != nil {
			return err
		}
		f, err = s.files.create(temp)
	}
	if err != nil {
		return err
	}
	if err := fill(f, content); err != nil {
		s.files.remove(temp)
		return err
	}
	if err := s.files.rename(temp, path); err != nil {
		s.files.remove(temp)
		return err
	}
	return nil
}

// fill writes content to f, syncs and closes it.
func fill(f file, content []byte) error {
	_, err := f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
