//go:build !darwin && !freebsd && !linux

package filestore

import "os"

func (osFiles) network(string) (string, error) { return "", nil }
func held(*os.File) bool                       { return false }
func identity(*os.File) string                 { return "" }
func share(*os.File, string) error             { return nil }
func identityOfDir(*os.File) string            { return "" }
