// Package localfile has what engines that keep files ask of the file system.
package localfile

import (
	"errors"
	"os"
	"runtime"
)

// A File is what tells a file or directory from others.
type File struct {
	// Inode and Born, when it was made, distinguish it from copies; each is "" where the system does not tell.
	Inode, Born string

	Links   uint64 // names that it has
	Mounted bool   // it is mounted alone, without its directory, as far as the system tells
}

// SyncDir makes the names in a directory durable. On Windows it does nothing: directories can't be
// synced there, but names are journaled.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
