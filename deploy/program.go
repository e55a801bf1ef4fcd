package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A program is randflaked for Linux on one architecture.
type program struct {
	arch    string
	content []byte
}

// build makes the program of the checkout at root. The same source and release of Go give the same bytes, wherever the
// checkout is, and whatever is set in the environment.
func build(root, arch string) (program, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return program{}, err
	}
	dir, err := os.MkdirTemp("", "randflaked")
	if err != nil {
		return program{}, err
	}
	defer os.RemoveAll(dir)
	to := filepath.Join(dir, "randflaked")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", to, "./cmd/randflaked")
	cmd.Dir = filepath.Join(root, "service")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK="+filepath.Join(root, "go.work"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return program{}, fmt.Errorf("go build for %s: %w\n%s", arch, err, out)
	}
	content, err := os.ReadFile(to)
	return program{arch, content}, err
}
