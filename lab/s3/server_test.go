package s3test

import (
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// serve starts a server that ends with the test.
func serve(t *testing.T, flags ...string) *Server {
	t.Helper()
	s, err := Start(t.TempDir(), flags...)
	if s != nil {
		t.Cleanup(func() { s.Kill() })
	}
	must(t, err)
	return s
}

// startServer returns a client of a server.
func startServer(t *testing.T) minio.Core {
	t.Helper()
	core, err := minio.NewCore(serve(t, "--nometa").Addr(), &minio.Options{
		Creds:        credentials.NewStaticV4(Access, Secret, ""),
		Region:       "us-east-1",
		BucketLookup: minio.BucketLookupPath,
	})
	must(t, err)
	return *core
}
