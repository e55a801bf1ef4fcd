//go:build !nextformat

package store

// Format is the newest format of a space that this program reads and writes; it knows all earlier ones too. New spaces have
// it. It grows with every change of what is stored that earlier versions can't read, or would drop when they write.
const Format = 1
