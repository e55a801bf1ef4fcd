// Package backends lets programs of this repository that measure or compare choose among the implementations of the
// cipher, which package randflake otherwise does itself. Package randflake fills it in.
package backends

var (
	// Names are the backends that this machine can run, the preferred one first.
	Names []string

	// Use has the process use one of Names from now on. Nothing may be encrypted or generated meanwhile.
	Use func(name string)
)
