//go:build !go1.27

package peers

var openStandardV4, openStandardV7 func() (Maker, error)
