// Package servers starts real database servers for tests, each on a free port of 127.0.0.1 with its
// data in a directory of the caller's. They die with the process that started them, as far as the
// system can see to that.
package servers
