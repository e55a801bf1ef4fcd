package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const source = `package planted

const One, two = 1, 2

var ErrBad error

// Shape has a doc comment.
type Shape struct {
	Width, Height int
	hidden        bool
}

func (s *Shape) Area() int { return s.Width * s.Height }

func (s *Shape) secret() {}

type Namer interface{ Name() string }

func New[T any]() *T { return new(T) }
`

func planted(t *testing.T, source string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "planted.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestList(t *testing.T) {
	dir := planted(t, source)
	var out bytes.Buffer
	if err := list(&out, dir); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"package " + dir + ": 9 names\n", "func (s *Shape) Area() int\n", "func New[T any]() *T\n", "type Namer interface{ Name() string }\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the listing lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") || strings.Contains(text, "hidden") || strings.Contains(text, "doc comment") {
		t.Errorf("the listing shows what is not exported, or comments:\n%s", text)
	}
}

func TestCheck(t *testing.T) {
	dir, kept := planted(t, source), filepath.Join(t.TempDir(), "api.txt")
	var out bytes.Buffer
	if err := list(&out, dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(kept, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(kept, []string{dir}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "planted.go"), []byte(strings.Replace(source, "Area() int", "Area() uint", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(kept, []string{dir}); err == nil {
		t.Error("a method that returns another type is no change")
	}
}
