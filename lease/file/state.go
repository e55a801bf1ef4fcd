package file

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"

	"github.com/randflake/randflake/store"
)

// A file is a numbered file: a head, which is a line of magic and SHA-256, and this as JSON.
type file struct {
	Token        string // of the store
	Number, Base uint64 // Base is the number of the newest snapshot, which may be this file
	Before       string // head of the file before
	Nonce        string // random, so that no two files have the same head
	Entries      []store.Entry

	head string
	size int
}

const (
	magic    = "randflake store 1 "
	headSize = len(magic) + 2*sha256.Size + 1
)

// finish completes f, and returns its content.
func (f *file) finish() []byte {
	f.Nonce = rand.Text()
	body, _ := json.Marshal(f) // can't fail on such fields
	f.head = headOf(body)
	return append([]byte(f.head), body...)
}

// A state is what the files up to one of them make.
type state struct {
	file                  // Number is 0 where nothing was read
	all     []store.Entry // in order of names
	changes int           // since the snapshot
	growth  int           // bytes of disk that they take more than the snapshot
}

// find returns where an entry is, or would be.
func (s *state) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.all, name, func(e store.Entry, name string) int { return strings.Compare(e.Name, name) })
}

// get returns a copy of an entry.
func (s *state) get(name string) store.Entry {
	i, found := s.find(name)
	if !found {
		return store.Entry{Name: name}
	}
	return store.Entry{Name: name, Value: bytes.Clone(s.all[i].Value)}
}

// put makes changes. An entry without a value is removed, or kept as such if s is a list of changes.
func (s *state) put(entries []store.Entry, changes bool) {
	for _, entry := range entries {
		i, found := s.find(entry.Name)
		switch gone := entry.Value == nil && !changes; {
		case gone && found:
			s.all = slices.Delete(s.all, i, i+1)
		case found:
			s.all[i] = entry
		case !gone:
			s.all = slices.Insert(s.all, i, entry)
		}
	}
}

// apply makes s what it is after f.
func (s *state) apply(f file) {
	entries := f.Entries
	f.Entries = nil
	if f.Base == f.Number {
		*s = state{file: f, all: entries, growth: -f.size}
		return
	}
	s.file, s.changes, s.growth = f, s.changes+1, s.growth+max(f.size, 4096) // a block
	s.put(entries, false)
}

// next returns the file that puts entries. It is a snapshot if the changes since the last one are often or more, and
// take as much space as that.
func (s *state) next(entries []store.Entry, often int) file {
	f := file{Token: s.Token, Number: s.Number + 1, Base: s.Base, Before: s.head, Entries: entries}
	if s.changes >= often && s.growth >= 0 {
		after := state{all: slices.Clone(s.all)}
		after.put(entries, false)
		f.Base, f.Entries = f.Number, after.all
	}
	return f
}
