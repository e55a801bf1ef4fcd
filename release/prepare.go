package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

const rootPath = "github.com/randflake/randflake"

// unreleased are the modules that nobody installs: evidence, examples, and what makes releases.
var unreleased = []string{"bench", "chaos", "compat/upstream", "deploy", "examples/databases", "examples/orders", "release", "service/browsertest", "service/tools", "ulid/s3test"}

// A module is one of the checkout.
type module struct {
	dir  string // in the checkout, with slashes; "." is the root
	file *modfile.File
}

func (m module) path() string { return path.Join(rootPath, m.dir) }

func (m module) released() bool { return !slices.Contains(unreleased, m.dir) }

// program reports whether m is there to be installed by go install, which takes no module with a replace directive.
func (m module) program() bool { return strings.HasPrefix(m.dir, "cmd/") || m.dir == "service" }

// tag returns the name under which the go command looks for a version of m.
func (m module) tag(version string) string { return path.Join(m.dir, version) }

// modules returns the modules of the checkout at root, in order of their directories.
func modules(root string) (all []module, err error) {
	listed, err := exec.Command("git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "go.mod", "*/go.mod").Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", root, err)
	}
	for name := range strings.FieldsSeq(string(listed)) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(name, content, nil)
		if err != nil {
			return nil, err
		}
		m := module{path.Dir(name), file}
		if file.Module == nil || file.Module.Mod.Path != m.path() {
			return nil, fmt.Errorf("%s: want module %s", name, m.path())
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(x, y module) int { return strings.Compare(x.dir, y.dir) })
	return all, nil
}

// prepare has every module require version of every other one that it needs, and says so in the changelog.
func prepare(root, version string, now time.Time) ([]module, error) {
	if semver.Canonical(version) != version || semver.Major(version) > "v1" {
		return nil, fmt.Errorf("version %q: want one as v0.1.0, of major version 0 or 1", version)
	}
	all, err := modules(root)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.program() && len(m.file.Replace) > 0 {
			return nil, fmt.Errorf("%s: has a replace directive, with which nobody can install it: go.work is enough for a clone", m.file.Syntax.Name)
		}
		if err := m.require(version); err != nil {
			return nil, err
		}
		if err := m.write(root); err != nil {
			return nil, err
		}
	}
	return all, head(filepath.Join(root, "CHANGELOG.md"), version, now)
}

// require raises what m requires of this repository to version.
func (m module) require(version string) error {
	for _, r := range m.file.Require {
		if !own(r.Mod.Path) {
			continue
		}
		if err := m.file.AddRequire(r.Mod.Path, version); err != nil {
			return err
		}
	}
	return nil
}

func own(path string) bool { return path == rootPath || strings.HasPrefix(path, rootPath+"/") }

func (m module) write(root string) error {
	content, err := m.file.Format()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(m.file.Syntax.Name)), content, 0o644)
}

const unreleasedHeading = "## Unreleased\n"

// head gives the unreleased part of the changelog the heading of a version.
func head(name, version string, now time.Time) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if bytes.Count(content, []byte(unreleasedHeading)) != 1 {
		return fmt.Errorf("%s: want one line %q, with what is new below it", name, strings.TrimSpace(unreleasedHeading))
	}
	heading := fmt.Sprintf("%s\n## %s, %s\n", unreleasedHeading, version, now.UTC().Format(time.DateOnly))
	return os.WriteFile(name, bytes.Replace(content, []byte(unreleasedHeading), []byte(heading), 1), 0o644)
}
