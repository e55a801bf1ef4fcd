package file

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/randflake/randflake/lease"
	"github.com/randflake/randflake/lease/internal/localfile"
	"github.com/randflake/randflake/lease/internal/stored"
)

// A state is the second line of the file of entries, in JSON. The first line has its SHA-256. The names
// of the fields are the format: they never change.
type state struct {
	Token    string            `json:"token"` // that of the directory
	Position uint64            `json:"position"`
	Entries  map[string][]byte `json:"entries"`

	before []byte // the line that was read, for its keys that this program does not know; or nil
}

// load reads first the entries, then the lineage. If the directory is replaced in between, the
// lineage is that of the new one: a loss may be seen that was none, but none is missed.
func (e *Engine) load(ctx context.Context) (s state, lineage string, err error) {
	if err := e.checkUsable(ctx); err != nil {
		return s, "", e.withDir(err)
	}
	content, err := os.ReadFile(e.path(entriesName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, "", e.missing()
	case err != nil:
		return s, "", e.withDir(err)
	}
	sum, body, _ := bytes.Cut(content, []byte("\n"))
	if string(sum) != sumOf(body) {
		what := fmt.Sprintf("it begins with %.80q, want %q", sum, sumOf(body))
		return s, "", e.corrupt(entriesName, what)
	}
	err = json.Unmarshal(body, &s)
	if err == nil && s.Entries == nil {
		err = errors.New("it has no entries")
	}
	if err != nil {
		return s, "", e.corrupt(entriesName, fmt.Sprintf("it has other content: %v", err))
	}
	s.before = body
	lineage, err = e.lineage(s)
	return s, lineage, err
}

// missing returns what it means that there is no file of entries.
func (e *Engine) missing() error {
	_, err := os.Lstat(e.path(lineageName))
	if err == nil {
		return e.corrupt(entriesName, "it is missing")
	}
	return e.withDir(errNoSpace)
}

var errNoSpace = fmt.Errorf("%w; if there was one, is it mounted?", lease.ErrNoSpace)

// lineage returns what tells this directory from copies of it. s is what its file of entries has.
func (e *Engine) lineage(s state) (string, error) {
	path := e.path(lineageName)
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(s.Entries) > 0:
		return "", e.corrupt(lineageName, "it is missing")
	case errors.Is(err, fs.ErrNotExist):
		return "", e.withDir(fmt.Errorf("%w: it was not made to the end: make it again", lease.ErrNoSpace))
	case err != nil:
		return "", e.withDir(err)
	case string(content) != s.Token+"\n":
		what := fmt.Sprintf("it has %.60q, and the entries are of %q", content, s.Token)
		return "", e.corrupt(lineageName, what)
	}
	file, err := localfile.Stat(path)
	if err != nil {
		return "", e.withDir(err)
	}
	dir, err := localfile.Stat(e.dir)
	if err != nil {
		return "", e.withDir(err)
	}
	// The directory's inode number is the second choice, as overlay file systems number directories
	// anew at each mount.
	return s.Token + file.Inode + file.Born + cmp.Or(dir.Born, dir.Inode), nil
}

// encode returns the content of the file of entries.
func (s *state) encode() []byte {
	body, _ := stored.Encode(*s, s.before) // can't fail on such fields
	return slices.Concat([]byte(sumOf(body)), []byte("\n"), body)
}

// sumOf returns the first line of the file of entries, whose second line is body.
func sumOf(body []byte) string { return fmt.Sprintf("randflake 1 %x", sha256.Sum256(body)) }

func (s *state) answer(names []string, lineage string) lease.Answer {
	return lease.Answer{Entries: s.entries(names), Lineage: lineage, Position: s.Position}
}

// entries returns the entries with these names, with the value nil where there is none.
func (s *state) entries(names []string) (entries []lease.Entry) {
	for _, name := range names {
		entries = append(entries, lease.Entry{Name: name, Value: s.Entries[name]})
	}
	return entries
}
