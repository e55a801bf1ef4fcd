//go:build !(linux && amd64)

package clock

import (
	"errors"
	"sync/atomic"
	"time"
)

// Shift fails: the code that it needs is written for linux/amd64 only.
func Shift(*atomic.Int64) error { return errors.ErrUnsupported }

// ShiftOther fails as Shift does.
func ShiftOther(int, time.Duration) error { return errors.ErrUnsupported }
