//go:build nextformat

package store

// Format makes this program one of the next format, for tests of an upgrade.
const Format = 2
