package s3test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// program builds the server, apart from this module, which would otherwise require all that the server does.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "versitygw")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "install", "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	build.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "GOWORK=off")
	_, err = build.Output()
	return filepath.Join(dir, "versitygw"), err
})

// startServer runs an S3 server on a temporary folder, until the test ends, and makes a bucket.
func startServer(t *testing.T) minio.Core {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatalf("build the server: %v: %s", err, stderrOf(err))
	}
	const access, secret = "test", "test-secret"
	// A socket in the file system needs no free port. Its path has a limit of some 100 bytes.
	dir, err := os.MkdirTemp("", "s3test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")

	var output bytes.Buffer
	server := exec.Command(path, "--access", access, "--secret", secret, "--port", socket, "--quiet", "posix", "--nometa", t.TempDir())
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server.Wait()
	}()
	t.Cleanup(func() {
		server.Process.Kill()
		<-ended
		if t.Failed() {
			t.Logf("the server's output:\n%s", &output)
		}
	})

	core, err := minio.NewCore("localhost", &minio.Options{
		Creds: credentials.NewStaticV4(access, secret, ""),
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}},
		Region:       "us-east-1",
		BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	awaitSocket(t, socket, ended)
	if err := core.MakeBucket(t.Context(), bucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return *core
}

// awaitSocket waits until the server listens.
func awaitSocket(t *testing.T, socket string, ended <-chan struct{}) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			connection.Close()
			return
		}
		select {
		case <-ended:
			t.Fatal("the server ended")
		case <-deadline:
			t.Fatalf("the server does not listen: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func stderrOf(err error) []byte {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.Stderr
	}
	return nil
}
