//go:build unix

// Package s3test runs S3 servers: for the key listings of package ulid, for lease/s3, and for lab/chaos.
package s3test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/randflake/randflake/internal/test/servers"
)

// A Server is a versitygw on a folder. It has one bucket, and heeds conditions unless it was started without metadata.
type Server struct {
	*servers.Server
	program string
	flags   []string
}

// All servers have this bucket, and these credentials.
const (
	Bucket = "objects"
	Access = "test"
	Secret = "test-secret"
)

// Start starts a server in a directory, with flags of its posix backend in addition, and waits until it answers.
func Start(dir string, flags ...string) (*Server, error) {
	// A module of its own, as lab would otherwise require all that the server does. Tests run in a folder of lab.
	program, err := servers.Tool("../s3/versitygw", "github.com/versity/versitygw/cmd/versitygw")
	if err != nil {
		return nil, err
	}
	s, err := servers.New("versitygw", dir, nil)
	if err != nil {
		return nil, err
	}
	server := &Server{s, program, flags}
	return server, errors.Join(os.MkdirAll(filepath.Join(server.Data(), Bucket), 0o700), server.Start())
}

// Data returns the folder that has a folder for each bucket, with a file for each object.
func (s *Server) Data() string { return filepath.Join(s.Dir(), "data") }

// Start starts the server again. It does nothing to a server that runs.
func (s *Server) Start() error {
	arguments := []string{"--access", Access, "--secret", Secret, "--port", s.Addr(), "--quiet", "posix"}
	arguments = slices.Concat(arguments, s.flags, []string{s.Data()})
	return s.Launch(exec.Command(s.program, arguments...), func() bool {
		answer, err := http.Get("http://" + s.Addr())
		if err == nil {
			answer.Body.Close()
		}
		return err == nil
	})
}

// URL returns the name of a store in the bucket.
func (s *Server) URL(prefix string) string { return URL("http://"+s.Addr(), prefix) }

// URL returns the name of a store in the bucket of a server that was found at an endpoint.
func URL(endpoint, prefix string) string {
	return fmt.Sprintf("s3://%s/%s?endpoint=%s", Bucket, prefix, endpoint)
}

// Credentials puts those of all servers into the environment, where the SDK looks for them.
func Credentials() error {
	return errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", Access), os.Setenv("AWS_SECRET_ACCESS_KEY", Secret))
}
