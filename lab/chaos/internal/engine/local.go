package engine

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// startFile is a directory.
func startFile(e *Engine) error {
	if err := e.smallDisk(); err != nil {
		return err
	}
	dir := filepath.Join(e.setup.Dir, "space")
	e.URL = "file://" + dir
	e.Copy = func() error { return locked(dir, func() error { return os.CopyFS(dir+"-copy", os.DirFS(dir)) }) }
	e.Restore = func() error {
		return locked(dir, func() error {
			return errors.Join(os.Rename(dir, e.fresh("lost")), os.Rename(dir+"-copy", dir))
		})
	}
	e.Wipe = func() error { return locked(dir, func() error { return os.RemoveAll(dir) }) }
	return nil
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
func startSQLite(e *Engine) error {
	if err := e.smallDisk(); err != nil {
		return err
	}
	path := filepath.Join(e.setup.Dir, "app.db")
	e.URL = "sqlite:" + path
	e.Copy = func() error {
		return withSQLite(path, func(db *sql.DB) error { _, err := db.Exec("VACUUM INTO ?", path+"-copy"); return err })
	}
	e.Restore = func() error { // while no worker has a journal of SQLite's
		return withSQLite(path, func(db *sql.DB) error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			return errors.Join(os.Rename(path+"-copy", path), tx.Rollback())
		})
	}
	return nil
}

func withSQLite(path string, do func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_txlock=exclusive&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// smallDisk mounts a disk of its own on the directory, in memory, if one is asked for.
func (e *Engine) smallDisk() error {
	if !e.setup.SmallDisk {
		return nil
	}
	if err := unix.Mount("tmpfs", e.setup.Dir, "tmpfs", 0, "size=8m"); err != nil {
		return fmt.Errorf("engine: mount a small disk, which takes root: %w", err)
	}
	e.onStop(func() { unix.Unmount(e.setup.Dir, unix.MNT_DETACH) })
	filler := filepath.Join(e.setup.Dir, "filler")
	e.FillDisk = func() error {
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
	e.FreeDisk = func() error { return os.Remove(filler) }
	return nil
}
