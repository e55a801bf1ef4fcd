// Package s3test runs the key listings of package ulid against a real S3 server.
package s3test
