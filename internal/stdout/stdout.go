// Package stdout tells programs whether what they print gets anywhere.
package stdout

import (
	"io"
	"os"
)

// WasClosed reports whether a stream was closed when the program began. Go then has the null device
// in its place, which can be read, too.
//
// Some programs start others with such a null device on purpose. So ask only before something is
// printed that nobody can print again.
func WasClosed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	is, _ := f.Stat()
	null, _ := os.Stat(os.DevNull)
	if !os.SameFile(is, null) {
		return false
	}
	_, err := f.Read(make([]byte, 1))
	return err == io.EOF
}
