package servers

import (
	"fmt"
	"os"
)

// Share runs the tests of a package, m of type *testing.M, while a server runs that they share, and returns the code to
// exit with. start starts the server in a directory, and shared is where the tests find it.
func Share[S interface{ Kill() error }](m interface{ Run() int }, shared *S, start func(dir string) (S, error)) (code int) {
	dir, err := os.MkdirTemp("", "server")
	if err == nil {
		defer os.RemoveAll(dir)
		*shared, err = start(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { (*shared).Kill() }()
	return m.Run()
}
