package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/randflake/randflake/lease/leasetest"
	"github.com/randflake/randflake/store"
)

func TestSuite(t *testing.T) {
	start := func(often int) leasetest.Start {
		return func(t *testing.T) func(t *testing.T) store.Engine {
			dir := filepath.Join(t.TempDir(), "leases")
			return func(t *testing.T) store.Engine {
				e := open(t, dir)
				e.often = often
				return e
			}
		}
	}
	leasetest.Run(t, start(256))
	t.Run("often", func(t *testing.T) { leasetest.RunEngine(t, start(2)) })
}

func open(t *testing.T, dir string) *Engine {
	t.Helper()
	e, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// filled returns a directory with a snapshot of two entries in file 5, and a change in file 6.
func filled(t *testing.T) (dir string, e *Engine) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "leases")
	e = open(t, dir)
	e.often = 3
	if err := e.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		swap(t, e, fmt.Sprint(i%2), fmt.Sprint(i))
	}
	if e.state.Base != 5 && e.state.Number != 5 {
		t.Fatalf("file %d, snapshot %d", e.state.Number, e.state.Base)
	}
	return dir, e
}

func swap(t *testing.T, e *Engine, name, value string) store.Answer {
	t.Helper()
	answer, err := e.Swap(t.Context(), nil, []store.Entry{{Name: name, Value: []byte(value)}})
	if err != nil || !answer.Swapped {
		t.Fatalf("Swap: %v, %v", answer, err)
	}
	return answer
}

func read(t *testing.T, e *Engine) store.Answer {
	t.Helper()
	answer, err := e.Read(t.Context(), []string{"0", "1"}, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// snapshot returns the names and contents of the files in dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		content, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		err = errors.Join(err, readErr)
		files[entry.Name()] = string(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// putBack makes dir hold files, each where it was if it was there.
func putBack(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name := range snapshot(t, dir) {
		if _, found := files[name]; !found {
			os.Remove(filepath.Join(dir, name))
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// wantCorrupt checks that handles, new and old, refuse everything, and change nothing.
func wantCorrupt(t *testing.T, what, dir string, handles ...*Engine) {
	t.Helper()
	before := snapshot(t, dir)
	for _, e := range append(handles, open(t, dir)) {
		_, readErr := e.Read(t.Context(), nil, store.Page{})
		_, swapErr := e.Swap(t.Context(), nil, []store.Entry{{Name: "x", Value: []byte("x")}})
		_, createErr := store.Create(t.Context(), e)
		for _, err := range []error{readErr, swapErr, createErr} {
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "restore") {
				t.Fatalf("%s: error %v, want ErrCorrupt, the path and a way out", what, err)
			}
		}
	}
	if fmt.Sprint(snapshot(t, dir)) != fmt.Sprint(before) {
		t.Fatalf("%s: files were changed", what)
	}
}

func TestDamage(t *testing.T) {
	dir, e := filled(t)
	swap(t, e, "1", "more")
	read(t, e)
	files := snapshot(t, dir)
	for _, name := range []string{numbered(e.state.Base), numbered(e.state.Number), markerName} {
		for i := range len(files[name]) {
			for _, content := range []string{files[name][:i], files[name][:i] + string(files[name][i]^4) + files[name][i+1:]} {
				if name == markerName && strings.HasPrefix(files[name], content) {
					continue // below: it may be made anew before the first file is
				}
				os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
				if _, err := open(t, dir).Read(t.Context(), nil, store.Page{}); !errors.Is(err, store.ErrCorrupt) {
					t.Fatalf("%s is %q: error %v, want ErrCorrupt", name, content, err)
				}
				if i%40 == 0 {
					wantCorrupt(t, name+" damaged", dir)
				}
			}
		}
		os.WriteFile(filepath.Join(dir, name), []byte(files[name]+"x"), 0o600)
		if name != markerName {
			wantCorrupt(t, name+" too long", dir)
		}
		os.Remove(filepath.Join(dir, name))
		if name != numbered(e.state.Number) { // a process that did not see the newest one can't tell that it is gone
			wantCorrupt(t, name+" missing", dir)
		}
		putBack(t, dir, files)
	}
	if answer := swap(t, e, "0", "again"); answer.Position != e.state.Number+1 {
		t.Errorf("with its files back: position %d", answer.Position)
	}
}

func TestNoStore(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "leases")
	for _, dir := range []string{dir, filepath.Join(dir, "deeper"), parent} {
		if _, err := Open(dir); !errors.Is(err, store.ErrNoStore) || !strings.Contains(err.Error(), dir) {
			t.Errorf("Open of %s: error %v, want ErrNoStore", dir, err)
		}
	}
	if _, err := Open(dir, store.OrCreate()); err == nil || !strings.Contains(err.Error(), "mounted") {
		t.Errorf("OrCreate: error %v, want a refusal", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open left something: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "deeper")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Create where there is no parent: error %v, want ErrNotExist", err)
	}
	s, err := Create(dir, store.ForNewSecret())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Create(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Create: error %v, want ErrExist", err)
	}
	if s, err = Open(dir); err != nil || !strings.Contains(s.String(), dir) {
		t.Errorf("Open: %v, %v", s, err)
	}
	if _, err := New(""); err == nil {
		t.Error("New of no directory")
	}
}

// copyTree copies the files of a directory as cp -a does, but for times.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	putBack(t, to, snapshot(t, from))
}

// TestCopy: a copy of a directory is of another lineage, also in the place of the first.
func TestCopy(t *testing.T) {
	dir, e := filled(t)
	lineage := read(t, e).Lineage
	copied := dir + ".copy"
	copyTree(t, dir, copied)
	switch other := read(t, open(t, copied)).Lineage; {
	case runtime.GOOS == "windows":
		t.Skip("no inode numbers")
	case other == lineage:
		t.Errorf("a copy has the lineage %s too", lineage)
	}
	if again := read(t, open(t, dir)).Lineage; again != lineage {
		t.Errorf("lineage %s, and %s in another handle", lineage, again)
	}
	for range 20 { // so that an inode number comes again, if the file system is like that
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		copyTree(t, copied, dir)
		time.Sleep(5 * time.Millisecond) // file systems' clocks are coarse
		for _, handle := range []*Engine{e, open(t, dir)} {
			if now := read(t, handle).Lineage; now == lineage {
				t.Fatalf("a directory that was restored has the lineage %s still", now)
			}
		}
	}
}

// TestOlderFiles: a handle that is open while older files are put back shows a lower position, whatever
// others have added to them.
func TestOlderFiles(t *testing.T) {
	for _, added := range []int{0, 1, 2, 3, 5} {
		dir, e := filled(t)
		files := snapshot(t, dir)
		before := swap(t, e, "0", "forgotten")
		lagging := open(t, dir)
		read(t, lagging)
		after := swap(t, e, "0", "forgotten too")
		if got := read(t, lagging).Position; got != after.Position || after.Position <= before.Position {
			t.Fatalf("positions %d, %d, %d", before.Position, after.Position, got)
		}
		putBack(t, dir, files)
		other := open(t, dir)
		for i := range added {
			if swap(t, other, "0", fmt.Sprint("new ", i)); i == 2 {
				other.often = 0
			}
		}
		for _, handle := range []*Engine{e, lagging} {
			got := read(t, handle)
			if got.Position >= after.Position || got.Lineage != after.Lineage {
				t.Errorf("%d added: position %d, lineage %s after %d, %s", added, got.Position, got.Lineage, after.Position, after.Lineage)
			}
			if value := string(got.Named[0].Value); strings.HasPrefix(value, "forgotten") {
				t.Errorf("%d added: found %q, which is gone", added, value)
			}
			if next := swap(t, handle, "1", "x"); next.Position <= got.Position || next.Position >= after.Position {
				t.Errorf("%d added: position %d after %d, %d", added, next.Position, got.Position, after.Position)
			}
		}
	}
}

// foreign are the files of a system that is not suitable.
type foreign struct {
	osFiles
	kind string
	err  error
}

func (f foreign) network(string) (string, error) { return f.kind, nil }
func (f foreign) link(string, string) error      { return f.err }

func TestUnsafe(t *testing.T) {
	dir := t.TempDir()
	if _, err := newOn(foreign{kind: "NFS"}, dir); !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), "NFS") || !strings.Contains(err.Error(), dir) {
		t.Errorf("NFS: error %v, want ErrUnsafe", err)
	}
	for _, refusal := range []error{syscall.EPERM, errors.ErrUnsupported} {
		e, err := newOn(foreign{err: &os.LinkError{Op: "link", Old: "a", New: "b", Err: refusal}}, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Prepare(t.Context()); !errors.Is(err, store.ErrUnsafe) || !strings.Contains(err.Error(), "link") {
			t.Errorf("no links: error %v, want ErrUnsafe", err)
		}
		if files := snapshot(t, dir); len(files) > 0 {
			t.Errorf("no links: left behind: %v", files)
		}
	}
}
