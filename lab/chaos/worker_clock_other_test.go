//go:build !amd64

package chaos

import (
	"errors"
	"sync/atomic"
)

// shiftClock fails: the code that it needs is written for amd64 only.
func shiftClock(*atomic.Int64) error { return errors.ErrUnsupported }
