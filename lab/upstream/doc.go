// Package upstream tests packages compat and compat/sparx64 against the original, gosuda.org/randflake v1.8.0. It
// compares the IDs of both, and runs the original's tests on the replacements. It copies those tests from the module
// cache and changes their imports; they are not in this repository. There is no such test of compat/v2, since v2.1.0 is
// not on the public module proxy.
package upstream
