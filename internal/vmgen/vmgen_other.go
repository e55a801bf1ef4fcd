//go:build !linux

package vmgen

import "sync/atomic"

func find() *atomic.Uint64 { return nil }

// Listen does nothing where no device is known.
func Listen() (stop func()) { return func() {} }
