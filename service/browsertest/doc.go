// Package browsertest has the test of randflaked's page in a browser. It is a module of its own for the sake of what drives the
// browser. RANDFLAKE_SCREENSHOTS names a directory for pictures of what the test sees.
package browsertest
