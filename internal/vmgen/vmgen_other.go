//go:build !linux

package vmgen

import "sync/atomic"

func find() *atomic.Uint64 { return nil }

func listen() (stop func()) { return func() {} }
