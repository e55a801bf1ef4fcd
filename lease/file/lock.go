package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/randflake/randflake/lease/internal/swap"
)

// lock waits for the lock and takes it. If a process dies, the system ends its lock.
func (e *Engine) lock(ctx context.Context) (unlock func(), err error) {
	if err := e.checkUsable(ctx); err != nil {
		return nil, e.withDir(err)
	}
	f, err := os.OpenFile(e.path(lockName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, e.withDir(errNoSpace)
	}
	if err != nil {
		return nil, e.withDir(err)
	}
	if err := e.wait(ctx, f); err != nil {
		f.Close()
		return nil, e.withDir(err)
	}
	if !sameFile(f, e.path(lockName)) { // the directory was replaced meanwhile
		f.Close()
		return e.lock(ctx)
	}
	return func() { f.Close() }, nil
}

// wait locks f. It tries less and less often, so that a thousand processes that wait leave the
// processors to the one that has the lock.
func (e *Engine) wait(ctx context.Context, f *os.File) error {
	if err := e.before("lock"); err != nil {
		return err
	}
	for pause := 50 * time.Microsecond; ; pause = min(pause*51/50, time.Second/2) {
		locked, err := tryLock(f)
		if locked || err != nil {
			return err
		}
		if err := e.checkUsable(ctx); err != nil {
			return fmt.Errorf("another process holds the lock: %w", err)
		}
		swap.Pause(ctx, pause) // if the context has ended, the next turn says so
	}
}

// sameFile reports whether f is the file at path.
func sameFile(f *os.File, path string) bool {
	own, _ := f.Stat()
	there, _ := os.Stat(path)
	return os.SameFile(own, there) // false if one of them is nil
}
