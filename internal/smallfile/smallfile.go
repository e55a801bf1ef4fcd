// Package smallfile reads files that are small by nature, such as a configuration or a token.
package smallfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

const most = 1 << 20 // bytes

// Read returns what a file has. More than 1 MiB is an error, as a device or a pipe may have no end.
func Read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if len(text) > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("more than %d bytes", most)}
	}
	return text, err
}
