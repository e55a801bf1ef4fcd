package chaos

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// startFile is a directory.
func startFile(s *store) {
	s.smallDisk()
	dir := filepath.Join(s.dir, "space")
	s.URL = "file://" + dir
	s.Copy = func() error { return locked(dir, func() error { return os.CopyFS(dir+"-copy", os.DirFS(dir)) }) }
	s.Restore = func() error {
		return locked(dir, func() error {
			return errors.Join(os.Rename(dir, s.fresh("lost")), os.Rename(dir+"-copy", dir))
		})
	}
	s.Wipe = func() error { return locked(dir, func() error { return os.RemoveAll(dir) }) }
}

// locked calls change while no worker is about to write.
func locked(dir string, change func() error) error {
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	return change()
}

// startSQLite is a file of SQLite.
func startSQLite(s *store) {
	s.smallDisk()
	path := filepath.Join(s.dir, "app.db")
	s.URL = "sqlite:" + path
	s.Copy = func() error {
		return withSQLite(path, func(db *sql.DB) error { _, err := db.Exec("VACUUM INTO ?", path+"-copy"); return err })
	}
	s.Restore = func() error { // while no worker has a journal of SQLite's
		return withSQLite(path, func(db *sql.DB) error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			return errors.Join(os.Rename(path+"-copy", path), tx.Rollback())
		})
	}
}

func withSQLite(path string, do func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_txlock=exclusive&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// smallDisk mounts a disk of its own on the directory, in memory, if one is asked for.
func (s *store) smallDisk() {
	if !s.setup.smallDisk {
		return
	}
	err := unix.Mount("tmpfs", s.dir, "tmpfs", 0, "size=8m")
	ensure(err == nil, "mount a small disk, which takes root: %v", err)
	s.onStop(func() { unix.Unmount(s.dir, unix.MNT_DETACH) })
	filler := filepath.Join(s.dir, "filler")
	s.FillDisk = func() error {
		f, err := os.Create(filler)
		if err != nil {
			return err
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, os.Getpagesize()))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		return nil
	}
	s.FreeDisk = func() error { return os.Remove(filler) }
}
