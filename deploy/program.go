package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A program is one for Linux on one architecture.
type program struct {
	name, arch string
	content    []byte
}

// sources are where the programs of an image are in a checkout: the service, and the command with the clients of all stores.
var sources = map[string]struct{ module, path string }{
	"randflaked": {"service", "./cmd/randflaked"},
	"randflake":  {"cmd/randflake", "./randflake-servers"},
}

// build makes a program of the checkout at root. The same source and release of Go give the same bytes, wherever the
// checkout is, and whatever is set in the environment.
func build(root, name, arch, version string) (program, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return program{}, err
	}
	dir, err := os.MkdirTemp("", "randflaked")
	if err != nil {
		return program{}, err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", to,
		"-ldflags=-s -w -buildid= -X github.com/randflake/randflake/service/internal/metrics.version="+version, sources[name].path)
	cmd.Dir = filepath.Join(root, sources[name].module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK="+filepath.Join(root, "go.work"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("go build of %s for %s: %w\n%s", name, arch, err, out)
	}
	content, err := os.ReadFile(to)
	return program{name, arch, content}, err
}
