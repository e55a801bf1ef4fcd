package main

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The versions differ from those of any other run, since the go command caches what it once saw. What was cached is removed.
var (
	first = fmt.Sprintf("v0.1.0-play.%d", time.Now().UnixNano())
	newer = strings.Replace(first, "v0.1", "v0.2", 1)
)

// played is a release that was prepared and published, in a copy of this checkout.
type played struct {
	proxy
	root string
	all  []module
}

func play(t *testing.T, change func(root string)) (played, error) {
	t.Helper()
	p := played{proxy: proxy{t.TempDir()}, root: checkout(t)}
	if change != nil {
		change(p.root)
	}
	var err error
	if p.all, err = prepare(p.root, first, time.Now()); err != nil {
		return p, err
	}
	p.publish(t, p.root, first)
	t.Cleanup(func() { forget(t, first) })
	return p, nil
}

// forget removes a version of our modules from the module cache.
func forget(t *testing.T, version string) {
	out, err := proxy{}.gocmd(t.TempDir(), "env", "GOMODCACHE")
	if err != nil {
		t.Error(err)
		return
	}
	cache := strings.TrimSpace(out)
	for _, at := range []string{filepath.Join(cache, rootPath), filepath.Join(cache, "cache/download", rootPath)} {
		filepath.WalkDir(filepath.Dir(at), func(name string, d fs.DirEntry, err error) error {
			if err == nil && strings.Contains(filepath.Base(name), version) {
				filepath.WalkDir(name, func(inner string, _ fs.DirEntry, _ error) error { return os.Chmod(inner, 0o755) })
				if err := os.RemoveAll(name); err != nil {
					t.Error(err)
				}
				if d.IsDir() {
					return fs.SkipDir
				}
			}
			return nil
		})
	}
}

// TestRelease gets every library alone into an empty module, tidies a program that imports nothing else of this repository,
// and installs every program.
func TestRelease(t *testing.T) {
	p, err := play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range p.all {
		if !m.released() {
			continue
		}
		t.Run(m.dir, func(t *testing.T) {
			if m.program() {
				p.install(t, m, first)
				return
			}
			p.use(t, m, first)
		})
	}
}

// TestNewerRoot has a root that is one minor version newer than all other modules, and has renamed its internal packages.
func TestNewerRoot(t *testing.T) {
	p, err := play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.newerRoot(t); err != nil {
		t.Fatal(err)
	}
	for _, m := range p.all {
		if m.released() && m.dir != "." && !m.program() {
			t.Run(m.dir, func(t *testing.T) { p.use(t, m, first, rootPath+"@"+newer) })
		}
	}
}

// TestPlantedFaults: a replace directive in a program, a version that is nowhere, and an internal import are each found.
func TestPlantedFaults(t *testing.T) {
	program := func(root string) string {
		all, err := modules(root)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, module.program)
		if i < 0 {
			t.Fatal("there is no program")
		}
		return all[i].dir
	}
	t.Run("replace", func(t *testing.T) {
		_, err := play(t, func(root string) {
			add(t, filepath.Join(root, program(root), "go.mod"), "\nreplace "+rootPath+" => ../..\n")
		})
		if err == nil || !strings.Contains(err.Error(), "replace directive") {
			t.Errorf("a program that replaces: %v", err)
		}
	})
	t.Run("internal import", func(t *testing.T) {
		p, err := play(t, func(root string) {
			add(t, filepath.Join(root, "ulid/doc.go"), "\nimport _ \""+rootPath+"/internal/coarse\"\n")
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.newerRoot(t); err != nil {
			t.Fatal(err)
		}
		if err := p.tryUse(t, "ulid", first, rootPath+"@"+newer); err == nil {
			t.Error("nothing was found")
		}
	})
	t.Run("version", func(t *testing.T) {
		p, err := play(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(p.dir, rootPath, "@v")); err != nil {
			t.Fatal(err)
		}
		if err := p.tryUse(t, "ulid", first); err == nil {
			t.Error("nothing was found")
		}
	})
}

func add(t *testing.T, name, text string) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, append(content, text...), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p played) use(t *testing.T, m module, version string, also ...string) {
	t.Helper()
	if err := p.tryUse(t, m.dir, version, also...); err != nil {
		t.Error(err)
	}
}

// tryUse gets a library into an empty module, with other modules at versions of their own, and builds and tidies a program that imports all its packages.
func (p played) tryUse(t *testing.T, dir, version string, also ...string) error {
	t.Helper()
	work := t.TempDir()
	path := module{dir: dir}.path()
	if _, err := p.gocmd(work, "mod", "init", "example.com/user"); err != nil {
		return err
	}
	if _, err := p.gocmd(work, append([]string{"get", path + "@" + version}, also...)...); err != nil {
		return err
	}
	text := "package main\n\nimport (\n"
	for _, imported := range packages(t, filepath.Join(p.root, dir), path) {
		text += fmt.Sprintf("\t_ %q\n", imported)
	}
	if err := os.WriteFile(filepath.Join(work, "main.go"), []byte(text+")\n\nfunc main() {}\n"), 0o644); err != nil {
		return err
	}
	if _, err := p.gocmd(work, "build", "-o", "user", "."); err != nil {
		return err
	}
	_, err := p.gocmd(work, "mod", "tidy")
	return err
}

// packages returns the import paths of the packages of a module that others may import.
func packages(t *testing.T, dir, path string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if base := d.Name(); name != dir && (base == "internal" || base == "testdata" || strings.HasPrefix(base, ".") || isModule(name)) {
			return fs.SkipDir
		}
		pkg, err := build.ImportDir(name, 0)
		if none := (*build.NoGoError)(nil); errors.As(err, &none) {
			return nil
		}
		if err == nil && pkg.Name != "main" && len(pkg.GoFiles) > 0 { // docs has tests alone
			inside, _ := filepath.Rel(dir, name)
			all = append(all, strings.TrimSuffix(path+"/"+filepath.ToSlash(inside), "/."))
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("packages of %s: %v, %v", path, all, err)
	}
	return all
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func (p played) install(t *testing.T, m module, version string) {
	t.Helper()
	work := t.TempDir()
	programs := []string{"randflake", "randflake-servers"}
	if m.dir == "service" {
		programs = []string{"randflaked"}
	}
	if _, err := p.gocmd(work, "install", m.path()+"/...@"+version); err != nil {
		t.Error(err)
		return
	}
	for _, program := range programs {
		if _, err := os.Stat(filepath.Join(work, "bin", program)); err != nil {
			t.Error(err)
		}
	}
}

// newerRoot publishes the root as of the next minor version. Its internal packages have other names there, so that a module that
// imports one of them does not build with it.
func (p played) newerRoot(t *testing.T) error {
	t.Helper()
	t.Cleanup(func() { forget(t, newer) })
	all, err := modules(p.root)
	if err != nil {
		return err
	}
	inRoot := func(name string) bool {
		return !slices.ContainsFunc(all, func(m module) bool {
			return m.dir != "." && strings.HasPrefix(filepath.ToSlash(name), filepath.ToSlash(filepath.Join(p.root, m.dir))+"/")
		})
	}
	err = filepath.WalkDir(p.root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".go" || !inRoot(name) {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, []byte(strings.ReplaceAll(string(content), rootPath+"/internal/", rootPath+"/internal/renamed/")), 0o644)
	})
	if err != nil {
		return err
	}
	internal := filepath.Join(p.root, "internal")
	if err := os.Rename(internal, internal+"-"); err != nil {
		return err
	}
	if err := os.Mkdir(internal, 0o755); err != nil {
		return err
	}
	if err := os.Rename(internal+"-", filepath.Join(internal, "renamed")); err != nil {
		return err
	}
	root := slices.IndexFunc(all, func(m module) bool { return m.dir == "." })
	if err := p.add(filepath.Join(p.root, all[root].dir), version(rootPath, newer)); err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(internal, "renamed"))
	return err
}
