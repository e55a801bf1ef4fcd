// Package localfile has what engines that keep files ask of the file system.
package localfile

// A File is what tells a file or directory from others.
type File struct {
	// Inode and Born, when it was made, distinguish it from copies; each is "" where the system does not tell.
	Inode, Born string

	Links   uint64 // names that it has
	Mounted bool   // it is mounted alone, without its directory, as far as the system tells
}
