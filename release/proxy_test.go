package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gomod "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// A proxy is a directory that the go command takes for a module proxy, by file://.
type proxy struct{ dir string }

// publish puts a version of every released module of a checkout there.
func (p proxy) publish(t *testing.T, root, version string) {
	t.Helper()
	all, err := modules(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if !m.released() {
			continue
		}
		if err := p.add(filepath.Join(root, m.dir), gomod.Version{Path: m.path(), Version: version}); err != nil {
			t.Fatalf("%s: %v", m.dir, err)
		}
	}
}

// add puts there what is in dir.
func (p proxy) add(dir string, v gomod.Version) error {
	at := filepath.Join(p.dir, v.Path, "@v") // none of the paths has an upper-case letter, which would be escaped
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	var zipped bytes.Buffer
	if err := zip.CreateFromDir(&zipped, v, dir); err != nil {
		return err
	}
	list, err := os.OpenFile(filepath.Join(at, "list"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(list, v.Version)
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, v.Version, time.Now().UTC().Format(time.RFC3339))
	return errors.Join(err, list.Close(),
		os.WriteFile(filepath.Join(at, v.Version+".info"), []byte(info), 0o644),
		os.WriteFile(filepath.Join(at, v.Version+".mod"), content, 0o644),
		os.WriteFile(filepath.Join(at, v.Version+".zip"), zipped.Bytes(), 0o644))
}

// gocmd runs the go command in dir, as somebody who has nothing of the checkout.
func (p proxy) gocmd(dir string, args ...string) (string, error) {
	elsewhere, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=file://"+p.dir+","+strings.TrimSpace(string(elsewhere)),
		"GONOSUMDB="+rootPath+","+rootPath+"/*", "GOWORK=off", "GOFLAGS=-mod=mod", "GOBIN="+filepath.Join(dir, "bin"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

// checkout returns a copy of the files of this checkout that git has or would take, without its history.
func checkout(t *testing.T) string {
	t.Helper()
	listed, err := exec.Command("git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join("..", name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, not yet in git
		}
		to := filepath.Join(root, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, content, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", root, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	return root
}

func version(path, v string) gomod.Version { return gomod.Version{Path: path, Version: v} }
