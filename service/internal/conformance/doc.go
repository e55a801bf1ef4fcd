// Package conformance has the tests of the Go client with the service behind it: that what it makes keeps the promises of
// a store.
package conformance
