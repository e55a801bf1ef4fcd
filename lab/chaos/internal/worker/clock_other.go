//go:build !(linux && amd64)

package worker

import (
	"errors"
	"sync/atomic"
)

// shiftClock fails: the code that it needs is written for linux/amd64 only.
func shiftClock(*atomic.Int64) error { return errors.ErrUnsupported }
